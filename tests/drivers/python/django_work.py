"""The scripted work through Django's ORM: django_work.py pymysql|mysqlclient"""
import datetime
import decimal
import os
import sys

if sys.argv[1] == "pymysql":
    import pymysql
    # Django asks for mysqlclient by its version
    pymysql.version_info = (2, 2, 8, "final", 0)
    pymysql.install_as_MySQLdb()

import django
from django.conf import settings

E = os.environ
DATABASE = {
    "ENGINE": "django.db.backends.mysql", "NAME": E["DB_NAME"], "USER": E["DB_USER"], "PASSWORD": E["DB_PASSWORD"],
    "HOST": E["DB_HOST"], "PORT": E["DB_PORT"], "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True,
    "OPTIONS": {"charset": "utf8mb4", "isolation_level": "read committed", "init_command": "SET sql_mode='STRICT_TRANS_TABLES'"},
}
settings.configure(INSTALLED_APPS=["books"], DATABASES={"default": DATABASE}, USE_TZ=True, TIME_ZONE="UTC", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField")
django.setup()

from django.db import IntegrityError, OperationalError, close_old_connections, connection, transaction  # noqa: E402
from django.db.models import Count, F, Q, Sum, Window  # noqa: E402
from django.db.models.functions import Lower, Rank, TruncMonth  # noqa: E402

from books.models import Author, Book  # noqa: E402
from dbapi_common import out  # noqa: E402


def write():
    with connection.schema_editor() as editor:
        editor.create_model(Author)
        editor.create_model(Book)
    when = datetime.datetime(2024, 1, 31, 23, 59, 59, 123456, tzinfo=datetime.timezone.utc)
    with transaction.atomic():
        for n in range(4):
            author = Author.objects.create(name=f"author {n} ü😀", born=datetime.date(1900 + n, 1, 1) if n else None)
            Book.objects.bulk_create([
                Book(
                    author=author, title=f"book {b}", price=decimal.Decimal(f"{b}.0001"), sold=2 ** 63 - 1 - b,
                    published=when + datetime.timedelta(days=20 * b), data={"b": [b]}, cover=bytes(range(b)),
                    length=datetime.timedelta(hours=b),
                )
                for b in range(5)
            ])
    try:
        with transaction.atomic():
            Author.objects.create(name="rolled back")
            Author.objects.create(name="author 1 ü😀")
    except IntegrityError as why:
        out("duplicate", why.args)
    out("authors", Author.objects.count())
    with transaction.atomic():
        point = transaction.savepoint()
        Book.objects.all().delete()
        transaction.savepoint_rollback(point)
        locked = Book.objects.select_for_update().filter(title="book 1").order_by("id").first()
        locked.price += 1
        locked.save()
    out("updated", Book.objects.filter(price__gt=3).update(price=F("price") * 2))
    out("get_or_create", Author.objects.get_or_create(name="new")[1], Author.objects.get_or_create(name="new")[1])
    out("update_or_create", Author.objects.update_or_create(name="new", defaults={"born": datetime.date(2000, 1, 1)})[1])
    out("deleted", Author.objects.filter(name="new").delete())
    try:
        Author.objects.raw("SELECT nowhere FROM books_author")[0]
    except OperationalError as why:
        out("error", why.args)


def read():
    for book in Book.objects.select_related("author").order_by("id"):
        out("book", book.id, book.author.name, book.price, book.published, book.data, bytes(book.cover), book.length, book.sold)
    found = Author.objects.annotate(n=Count("books"), total=Sum("books__price")).filter(Q(n__gt=0) | Q(born=None)).order_by("id")
    out("annotated", [(a.id, a.n, a.total) for a in found])
    out("months", list(Book.objects.annotate(m=TruncMonth("published")).values("m").annotate(n=Count("id")).order_by("m").values_list("m", "n")))
    ranks = Book.objects.annotate(r=Window(Rank(), order_by=F("price").desc())).order_by("id").values_list("id", "r")
    out("ranks", list(ranks))
    out("json", list(Book.objects.filter(data__b__0=2).order_by("id").values_list("id", flat=True)))
    out("prefetch", [[b.id for b in a.books.all()] for a in Author.objects.prefetch_related("books").order_by(Lower("name"))])
    out("iterated", sum(b.sold % 97 for b in Book.objects.iterator(chunk_size=7)))


def main():
    print(f"##version {django.__version__}")
    out("tables", sorted(connection.introspection.table_names()))
    write()
    read()
    close_old_connections()
    with connection.cursor() as cursor:
        out("description", [tuple(map(str, c)) for c in connection.introspection.get_table_description(cursor, "items")])
        out("constraints", str(sorted(connection.introspection.get_constraints(cursor, "books_book").items(), key=str)))
        cursor.execute("SELECT @@transaction_isolation" if not connection.mysql_is_mariadb else "SELECT @@tx_isolation")
        out("isolation", cursor.fetchall())
    print("##sync", flush=True)
    sys.stdin.readline()
    read()
    connection.close()
    read()
    print("##end", flush=True)


main()
