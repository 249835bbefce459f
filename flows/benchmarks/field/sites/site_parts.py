"""Parts that the sites of Django and of Wagtail share. Each site is a script next to this module.

Its arguments are FOLDER PORT COMMAND [SECONDS]. A visitor is logged in at once, because the task is about the site's
records. ``SECONDS`` is how long each answer takes.
"""

import sys
import time
from pathlib import Path
from typing import Any

FOLDER, PORT, COMMAND = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
DELAY_S = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0


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


SHARED: dict[str, Any] = {
    "DEBUG": True,
    "SECRET_KEY": "of no use to anybody",
    "ALLOWED_HOSTS": ["127.0.0.1"],
    "ROOT_URLCONF": "__main__",
    "MIDDLEWARE": [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "site_parts.LoggedIn",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    "TEMPLATES": [
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
    "DEFAULT_AUTO_FIELD": "django.db.models.AutoField",
    "STATIC_URL": "/static/",
    "USE_TZ": True,
}
"""Settings of both sites."""
