"""Check the environment variables that HTTP clients read: proxies and certificates."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage

PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "PREFECT_API_SSL_CERT_FILE")
_SOCKS = ("socks5", "socks5h")


def check_network_variables(environ: Mapping[str, str]) -> None:
    """Raise `InvalidUsage` for a variable with which no HTTP client can be made, with its name and a remedy.

    The HTTP library reads all such variables when a client is made, even if the server is on this machine.
    """
    for name in CERTIFICATES:
        value = environ.get(name, "")
        # SSL_CERT_DIR is a list of folders.
        places = value.split(os.pathsep) if name == "SSL_CERT_DIR" else [value]
        if value and not any(Path(place).exists() for place in places):
            raise InvalidUsage(
                f"The environment variable {name} names {value}, which does not exist: correct or unset it."
            )
    if "*" in (environ.get("no_proxy") or environ.get("NO_PROXY", "")).replace(" ", "").split(","):
        return  # no proxy is used
    for name in (spelling for proxy in PROXIES for spelling in (proxy, proxy.lower())):
        value = environ.get(name, "").strip()
        scheme = value.partition("://")[0].lower() if "://" in value else "http"
        if not value or scheme in ("http", "https"):
            continue
        if scheme not in _SOCKS:
            raise InvalidUsage(
                f"The environment variable {name} names a proxy of the kind {scheme[:20]!r}: use http://, https:// or "
                "socks5://, or unset it."
            )
        if importlib.util.find_spec("socksio") is None:
            raise InvalidUsage(
                f"The environment variable {name} names a SOCKS proxy, which needs the package socksio: run "
                "pip install socksio, or unset the variable."
            )
