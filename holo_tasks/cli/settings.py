"""What a command works with: its options, where they say nothing the environment, then the defaults."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pydantic import SecretStr

from holo_tasks.audit import Destination, Folder
from holo_tasks.audit.bucket_address import retain_days
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.models.address import HOSTED_BASE_URL, check_base_url, is_hosted
from holo_tasks.models.profile import DEFAULT_MODEL, Profile, profile_for


def base_url(given: str | None) -> str:
    """Return where the model is."""
    return check_base_url(given or os.environ.get("HOLO_BASE_URL") or HOSTED_BASE_URL)


def key_variable(url: str) -> str:
    """Name the environment variable of an endpoint's key; the hosted key is never sent anywhere else."""
    return "HAI_API_KEY" if is_hosted(url) else "HOLO_API_KEY"


def api_key(url: str) -> SecretStr | None:
    """Return the key for an endpoint; only H Company's own insists on one."""
    name = key_variable(url)
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidUsage(f"{name} holds characters that no API key has; set it again.")
    if not key and is_hosted(url):
        raise InvalidUsage(
            "There is no API key for H Company's endpoint: set HAI_API_KEY, or give --base-url for another server."
        )
    return SecretStr(key) if key else None


def model_name(given: str | None = None) -> str:
    """Return the model's name."""
    return check_text("model", given or os.environ.get("HOLO_MODEL") or DEFAULT_MODEL)


def profile(given: str | None) -> Profile:
    """Return how to speak to the model."""
    return profile_for(model_name(given))


def audit(given: str | None, home: Path) -> Destination:
    """Return where the evidence goes."""
    if given is None:
        return Folder((home / "runs").absolute())
    return Destination.parse(given, retain_days=retain_days(os.environ))


def check_text(name: str, text: str) -> str:
    """Return a text that can be written down, or raise `InvalidUsage`."""
    if text != text.encode(errors="replace").decode():
        here = sys.getfilesystemencoding()
        locale = "" if here == "utf-8" else f" This shell's locale says {here}: set LC_ALL=C.UTF-8."
        raise InvalidUsage(f"The {name} is not valid UTF-8 text.{locale}")
    return text
