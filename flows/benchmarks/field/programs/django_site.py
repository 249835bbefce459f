"""The smallest site with Django's admin pages: `django_site.py FOLDER PORT make|serve [SECONDS] [COLUMN]`.

A visitor is logged in at once, because the task is about an order. ``SECONDS`` is how long each answer takes, and
``COLUMN`` is one more column of the list.
"""

import sys
import time
from pathlib import Path
from typing import Any

import django
from django.apps import AppConfig
from django.conf import settings
from django.contrib import admin
from django.db import models

FOLDER, PORT, COMMAND = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
DELAY_S = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
NEW_COLUMNS = sys.argv[5:]


class Shop(AppConfig):
    """The shop. Its model is in this file."""

    name, label, path = "__main__", "shop", str(Path(__file__).parent)


class LoggedIn:
    """Lets each visitor be the administrator, and answers late if asked to."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        from django.contrib.auth.models import User

        request.user = User.objects.get(username="office")
        if "/static/" not in request.path:
            time.sleep(DELAY_S)
        return self.get_response(request)


settings.configure(
    DEBUG=True,
    SECRET_KEY="of no use to anybody",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF="__main__",
    INSTALLED_APPS=[
        *("django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"),
        *("django.contrib.messages", "django.contrib.staticfiles", "__main__.Shop"),
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "__main__.LoggedIn",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "shop.db"}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    STATIC_URL="/static/",
    USE_TZ=True,
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
