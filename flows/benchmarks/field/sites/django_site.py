"""The smallest site with Django's admin pages: `django_site.py FOLDER PORT make|serve [SECONDS] [COLUMN]`.

A visitor is logged in at once, because the task is about an order. ``SECONDS`` is how long each answer takes, and
``COLUMN`` is one more column of the list.
"""

import sys
from pathlib import Path

import django
from django.apps import AppConfig
from django.conf import settings
from django.contrib import admin
from django.db import models
from site_parts import COMMAND, FOLDER, PORT, SHARED

NEW_COLUMNS = sys.argv[5:]


class Shop(AppConfig):
    """The shop. Its model is in this file."""

    name, label, path = "__main__", "shop", str(Path(__file__).parent)


settings.configure(
    **SHARED,
    INSTALLED_APPS=[
        *("django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"),
        *("django.contrib.messages", "django.contrib.staticfiles", "__main__.Shop"),
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "shop.db"}},
)
django.setup()


class Order(models.Model):
    """One order of the shop."""

    number = models.CharField(max_length=20)
    customer = models.CharField(max_length=60)
    amount = models.CharField(max_length=20)
    status = models.CharField(max_length=10, choices=[("new", "New"), ("paid", "Paid"), ("sent", "Sent")])
    remark = models.CharField(max_length=120, blank=True)

    class Meta:
        app_label = "shop"

    def __str__(self) -> str:
        return self.number


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):  # type: ignore[misc,unused-ignore]
    """How the admin pages show orders."""

    list_display = ("number", *NEW_COLUMNS, "customer", "amount", "status")
    search_fields = ("number", "customer")


from django.urls import path  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]

if __name__ == "__main__":
    from django.core.management import call_command

    if COMMAND == "make":
        from django.contrib.auth.models import User
        from django.db import connection

        call_command("migrate", run_syncdb=True, verbosity=0)
        with connection.schema_editor() as editor:
            editor.create_model(Order)
        User.objects.create_superuser("office", "office@example.com", "office")
    else:
        call_command("runserver", f"127.0.0.1:{PORT}", use_reloader=False, verbosity=0)
