"""Check the environment variables that HTTP clients read: proxies and certificates."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from holo_tasks.core.errors import InvalidUsage

PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "AWS_CA_BUNDLE", "PREFECT_API_SSL_CERT_FILE")
_SOCKS = ("socks5", "socks5h")


def check_network_variables(environ: Mapping[str, str]) -> None:
    """Raise `InvalidUsage` for a variable with which no HTTP client can be made, with its name and a remedy.

    The HTTP library reads all of them when a client is made, even if the server is on this machine.
    """
    for name in CERTIFICATES:
        value = environ.get(name, "")
        if value and not Path(value).exists():
            raise InvalidUsage(
                f"The environment variable {name} names {value}, which does not exist: correct or unset it."
            )
    for name in (spelling for proxy in PROXIES for spelling in (proxy, proxy.lower())):
        value = environ.get(name, "").strip()
        scheme = urlsplit(value if "://" in value else f"http://{value}").scheme
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
