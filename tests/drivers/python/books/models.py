"""What django_work.py stores."""
import datetime

from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=50, unique=True)
    born = models.DateField(null=True)


class Book(models.Model):
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    title = models.CharField(max_length=100)
    price = models.DecimalField(max_digits=12, decimal_places=4)
    published = models.DateTimeField()
    data = models.JSONField(default=dict)
    cover = models.BinaryField(default=b"")
    length = models.DurationField(default=datetime.timedelta())
    sold = models.PositiveBigIntegerField(default=0)
