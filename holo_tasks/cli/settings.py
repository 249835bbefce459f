"""Settings of a command: from its options, else from the environment, else the defaults."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pydantic import SecretStr

from holo_tasks.audit import Destination, Folder
from holo_tasks.audit.bucket_address import retain_days
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.models.address import HOSTED_BASE_URL, check_base_url, is_hosted, key_variable
from holo_tasks.models.profile import DEFAULT_MODEL, Profile, profile_for


def base_url(given: str | None) -> str:
    """Return the base URL of the model's endpoint."""
    return check_base_url(given or os.environ.get("HOLO_BASE_URL") or HOSTED_BASE_URL)


def api_key(url: str) -> SecretStr | None:
    """Return the key for an endpoint, or ``None``. Raises `InvalidUsage` if H Company's endpoint has none."""
    name = key_variable(url)
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidUsage(f"{name} holds characters that no API key has; set it again.")
    if not key and is_hosted(url):
        raise InvalidUsage(
            "The API key for H Company's endpoint is missing: set HAI_API_KEY, or give --base-url for another server."
        )
    return SecretStr(key) if key else None


def model_name(given: str | None = None) -> str:
    """Return the model's name."""
    return check_text("model", given or os.environ.get("HOLO_MODEL") or DEFAULT_MODEL)


def profile(given: str | None) -> Profile:
    """Return the model's profile."""
    return profile_for(model_name(given))


def audit(given: str | None, home: Path) -> Destination:
    """Return the destination of the evidence, by default ``runs`` in the home."""
    if given is None:
        return Folder((home / "runs").absolute())
    return Destination.parse(given, retain_days=retain_days(os.environ))


def check_text(name: str, text: str) -> str:
    """Return ``text``. Raises `InvalidUsage` unless it can be encoded as UTF-8."""
    if text != text.encode(errors="replace").decode():
        here = sys.getfilesystemencoding()
        locale = "" if here == "utf-8" else f" This shell's locale says {here}: set LC_ALL=C.UTF-8."
        raise InvalidUsage(f"The {name} is not valid UTF-8 text.{locale}")
    return text
