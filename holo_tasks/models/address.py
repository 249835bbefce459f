"""Check and display the address of a model. Importing this module does not import the OpenAI client."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from holo_tasks.core.errors import InvalidUsage

HOSTED_BASE_URL = "https://api.hcompany.ai/v1/"
LONGEST_URL = 2000
"""Characters."""


def check_base_url(base_url: str) -> str:
    """Return the URL with a trailing slash. Raises `InvalidUsage` if it is not a base URL."""
    url = base_url.strip()
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")
        valid = parts.scheme in ("http", "https") and parts.port != 0 and not parts.query and not parts.fragment
    except ValueError:
        host, valid = "", False
    if not (valid and url.isprintable() and len(url) <= LONGEST_URL and re.fullmatch(r"[^\s\\]+", host)):
        raise no_base_url(base_url)
    return url.rstrip("/") + "/"


def no_base_url(text: str) -> InvalidUsage:
    """Return the error for an invalid base URL."""
    shown_text = without_login(text)[:100]
    return InvalidUsage(f"{shown_text!r} is not a base URL; give one like http://127.0.0.1:8000/v1.")


def check_key(key: str) -> str:
    """Return an API key without surrounding spaces. Raises `InvalidUsage` for characters that no key has."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidUsage("The API key has invalid characters; set it again.")
    return key


def is_hosted(base_url: str) -> bool:
    """Return whether a URL is H Company's endpoint. Only that endpoint is sent its API key."""
    parts, hosted = urlsplit(base_url), urlsplit(HOSTED_BASE_URL)
    return (parts.scheme, parts.hostname, parts.port) == (hosted.scheme, hosted.hostname, hosted.port)


def key_variable(base_url: str) -> str:
    """Return the environment variable with the endpoint's key. H Company's key is never sent anywhere else."""
    return "HAI_API_KEY" if is_hosted(base_url) else "HOLO_API_KEY"


def shown(base_url: str) -> str:
    """Return the URL without login, query and fragment, for messages and records."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def without_login(text: str) -> str:
    """Return a text without the login of a URL in it."""
    return re.sub(r"//[^/]*@", "//", text)
