"""Local-only mode: check that every service a run connects to is on this machine, before anything is started.

`check_run` checks all services, and `enter` turns the mode on.
"""

from __future__ import annotations

import os
import socket
import urllib.request
from collections.abc import Mapping, MutableMapping
from urllib.parse import urlsplit

from holo_tasks.audit import Destination
from holo_tasks.audit.anchor_places import ANCHORS_VARIABLE
from holo_tasks.audit.bucket_address import retain_days
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.this_machine import PROXIES, SWITCH, loopback_address, pinned_url, switched_on, without_proxies
from holo_tasks.prefect_server.temporary import SERVER_DATABASE, configured, configured_api_url
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE, check_kept_here
from holo_tasks.telemetry.otel_settings import requested_by

__all__ = [
    "check_advisors",
    "check_anchors",
    "check_database",
    "check_prefect",
    "check_rest",
    "check_run",
    "enter",
    "enter_late",
    "pin_prefect",
    "switched_on",
]


def enter(environ: MutableMapping[str, str], *, by_option: bool = False) -> bool:
    """Turn the mode on for this process and its children if ``by_option``; return whether it is on.

    It cannot be turned off here if the environment turns it on.
    """
    if not (by_option or switched_on(environ)):
        return False
    environ[SWITCH] = "1"
    without_proxies(environ)
    return True


def enter_late(environ: MutableMapping[str, str], prefect_url: str | None) -> None:
    """Turn the mode on after Prefect has started.

    Raises `InvalidUsage` if Prefect may have been reached through a proxy.
    """
    host = urlsplit(prefect_url or "http://127.0.0.1").hostname or ""
    proxies = {name: environ[name] for name in environ if name.lower() in PROXIES and environ[name]}
    unproxied = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if proxies and not urllib.request.proxy_bypass_environment(host, {"no": unproxied}):  # type: ignore[attr-defined]
        raise InvalidUsage(
            f"Local-only mode is on, and Prefect at {host} was reached through the proxy of {min(proxies)}: unset it, "
            f"or set NO_PROXY to {host}, before the flow is started."
        )
    enter(environ, by_option=True)


def pin_prefect(environ: MutableMapping[str, str]) -> str | None:
    """Replace the host of the configured Prefect API by its address in the environment; return the URL.

    The name is then not resolved again. Returns ``None`` if no API is configured. Raises `InvalidUsage` if it is on
    another machine.
    """
    url = configured_api_url(environ)
    if url is not None:
        environ["PREFECT_API_URL"] = url = check_prefect(url)
    return url


def check_run(base_url: str, destination: Destination, prefect_url: str | None) -> None:
    """Raise `InvalidUsage` unless the model's endpoint and all other services are on this machine."""
    pinned_url(base_url, socket.getaddrinfo, "the model's endpoint")
    check_rest(destination, prefect_url)


def check_rest(destination: Destination, prefect_url: str | None) -> Destination:
    """Check all services except the model's endpoint; return the trace destination, restricted to this machine."""
    if prefect_url:
        check_prefect(prefect_url)
    else:
        _check_own_server()
    check_database()
    check_anchors()
    requested_by(os.environ, local_only=True)  # checks the collector of spans and metrics
    return destination.kept_here()


def check_anchors() -> None:
    """Raise `InvalidUsage` if trace anchors would be stored on another machine."""
    named = os.environ.get(ANCHORS_VARIABLE, "").strip()
    if "://" in named:
        Destination.parse(named, retain_days=retain_days(os.environ)).kept_here()


def _check_own_server() -> None:
    """Raise `InvalidUsage` if the database of a server that Prefect starts by itself is on another machine."""
    what = "the database of Prefect's own server (it holds pictures of the screen)"
    url = configured(os.environ, *(f"{kind}_CONNECTION_URL" for kind in SERVER_DATABASE))
    host = configured(os.environ, *(f"{kind}_HOST" for kind in SERVER_DATABASE))
    if url and not url.startswith("sqlite"):
        check_kept_here(url, what)
    elif host and not url and not host.startswith("/"):
        loopback_address(host, socket.getaddrinfo, what)


def check_database() -> None:
    """Raise `InvalidUsage` if the shared database is on another machine."""
    check_kept_here(os.environ.get(DATABASE_VARIABLE, "").strip())


def check_prefect(url: str) -> str:
    """Return the URL of a Prefect API with its loopback address. Raises `InvalidUsage` if it is on another machine."""
    return pinned_url(url, socket.getaddrinfo, "the Prefect API (its artifacts carry pictures of the screen)")


def check_advisors(advisors: Mapping[str, Model]) -> None:
    """Raise `InvalidUsage` unless the clients of all advisor models are in local-only mode."""
    for name, advisor in advisors.items():
        if not getattr(advisor.client, "local_only", False):
            raise InvalidUsage(
                f"Local-only mode is on, but not for the advisor {name!r} at {advisor.client.endpoint}: turn it on "
                "for this model as well."
            )
