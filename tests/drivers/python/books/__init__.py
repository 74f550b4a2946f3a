"""The application of django_work.py."""
