"""Local-only mode at the edge: everything a run would speak to is on this machine, or nothing is started."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, MutableMapping

from holo_tasks.audit import Destination
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.model import Model
from holo_tasks.core.this_machine import SWITCH, pinned_url, switched_on, without_proxies
from holo_tasks.safety.store import DATABASE_VARIABLE, check_kept_here

__all__ = ["check_advisors", "check_database", "check_prefect", "check_rest", "check_run", "enter", "switched_on"]


def enter(environ: MutableMapping[str, str], *, asked: bool = False) -> bool:
    """Turn the mode on for this process and its children, if it is asked for or on already; say whether it is on.

    The environment's switch cannot be turned off here.
    """
    if not (asked or switched_on(environ)):
        return False
    environ[SWITCH] = "1"
    without_proxies(environ)
    return True


def check_run(base_url: str, destination: Destination, prefect_url: str | None) -> str | None:
    """Check all that a run would speak to; return the Prefect API's URL by its address, if there is one."""
    pinned_url(base_url, socket.getaddrinfo, "the model's endpoint")
    check_rest(destination, prefect_url)
    return check_prefect(prefect_url) if prefect_url else None


def check_rest(destination: Destination, prefect_url: str | None) -> Destination:
    """Check all but the model's endpoint; return the destination as it is to be used."""
    if prefect_url:
        check_prefect(prefect_url)
    check_database()
    return destination.kept_here()


def check_database() -> None:
    """Raise `InvalidUsage` if what runs share is kept elsewhere."""
    check_kept_here(os.environ.get(DATABASE_VARIABLE, "").strip())


def check_prefect(url: str) -> str:
    """Return the URL of a Prefect API by its loopback address; raise `InvalidUsage` if it is elsewhere."""
    return pinned_url(url, socket.getaddrinfo, "the Prefect API (its artifacts carry pictures of the screen)")


def check_advisors(advisors: Mapping[str, Model]) -> None:
    """Raise `InvalidUsage` unless every further model is kept to this machine, too."""
    for name, advisor in advisors.items():
        if not getattr(advisor.client, "local_only", False):
            raise InvalidUsage(
                f"Local-only mode is on, and the advisor {name!r} at {advisor.client.endpoint} is not bound to this "
                "machine: turn the mode on for it, too."
            )
