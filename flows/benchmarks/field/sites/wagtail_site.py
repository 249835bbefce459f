"""The smallest site with Wagtail's admin pages: `wagtail_site.py FOLDER PORT make|serve [SECONDS [ROWS]]`.

A visitor is logged in at once, because the task is about a supplier. ``SECONDS`` is how long each answer takes,
and ``ROWS`` how many suppliers a page of the list shows.
"""

import sys
from pathlib import Path

import django
from django.apps import AppConfig
from django.conf import settings
from django.db import models
from site_parts import COMMAND, FOLDER, PORT, SHARED


class Office(AppConfig):
    """The office. Its model is in this file."""

    name, label, path = "__main__", "office", str(Path(__file__).parent)


WAGTAIL = ("snippets", "users", "documents", "images", "search", "admin")
settings.configure(
    **SHARED,
    INSTALLED_APPS=[
        *(f"wagtail.{name}" for name in WAGTAIL),
        *("wagtail", "modelcluster", "taggit", "django.contrib.auth", "django.contrib.contenttypes"),
        *("django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles", "__main__.Office"),
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "office.db"}},
    MEDIA_ROOT=str(FOLDER / "media"),
    WAGTAIL_SITE_NAME="Office",
    WAGTAILADMIN_BASE_URL=f"http://127.0.0.1:{PORT}",
    WAGTAIL_ENABLE_UPDATE_CHECK=False,
)
django.setup()

from wagtail.admin.panels import FieldPanel, FieldRowPanel  # noqa: E402
from wagtail.snippets.models import register_snippet  # noqa: E402
from wagtail.snippets.views.snippets import SnippetViewSet  # noqa: E402


class Supplier(models.Model):
    """One supplier of the office."""

    number = models.CharField(max_length=20)
    name = models.CharField(max_length=60)
    contact = models.CharField(max_length=60, blank=True)
    terms = models.CharField(max_length=10, choices=[("14", "14 days"), ("30", "30 days"), ("60", "60 days")])
    approved = models.BooleanField(default=False)
    note = models.CharField(max_length=120, blank=True)
    panels = (
        FieldRowPanel([FieldPanel("number"), FieldPanel("name")]),
        FieldRowPanel([FieldPanel("contact"), FieldPanel("note")]),
        *(FieldPanel("terms"), FieldPanel("approved")),
    )

    class Meta:
        app_label = "office"

    def __str__(self) -> str:
        return self.number


class SupplierPages(SnippetViewSet):  # type: ignore[misc,unused-ignore]
    """How Wagtail shows suppliers."""

    model, add_to_admin_menu, search_fields = Supplier, True, ("number", "name")
    list_display = ("number", "name", "terms", "approved")
    list_per_page = int(sys.argv[5]) if len(sys.argv) > 5 else 20


register_snippet(SupplierPages)

from django.urls import include, path  # noqa: E402
from wagtail.admin import urls as admin_urls  # noqa: E402
from wagtail.documents import urls as document_urls  # noqa: E402

urlpatterns = [path("admin/", include(admin_urls)), path("documents/", include(document_urls))]

if __name__ == "__main__":
    from django.core.management import call_command

    if COMMAND == "make":
        from django.contrib.auth.models import User
        from django.db import connection

        call_command("migrate", run_syncdb=True, verbosity=0)
        with connection.schema_editor() as editor:
            editor.create_model(Supplier)
        User.objects.create_superuser("office", "office@example.com", "office")
    else:
        call_command("runserver", f"127.0.0.1:{PORT}", use_reloader=False, verbosity=0)
