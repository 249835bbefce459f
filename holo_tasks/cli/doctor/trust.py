"""Checks of permissions and log-ins on this machine. They give warnings only, because a run works without them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from holo_tasks.core.errors import HoloError
from holo_tasks.core.this_machine import is_loopback
from holo_tasks.machine.private import DATABASE, OURS, is_open_to_others, replaceable
from holo_tasks.prefect_server.temporary import OPEN, is_open
from holo_tasks.run.rules.secret_sources import VARIABLE
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import store_at


def of_home(home: Path) -> list[str]:
    """Return warnings about files in the home that other users can reach, and about its database.

    A shared database has its own check.
    """
    wide = [home / name for name in sorted({*OURS, DATABASE}) if is_open_to_others(home / name)]
    found = [f"Other users of this machine have access to {path}: run `chmod -R go= {path}`." for path in wide]
    if home.is_dir() and (folder := replaceable(home)):
        found.append(
            f"Other users of this machine could replace files in {folder}, such as the signing key: "
            f"let it belong to this user or to root, and run `chmod go-w {folder}`."
        )
    if os.environ.get(DATABASE_VARIABLE, "").strip() or not (home / DATABASE).exists():
        return found
    try:
        with store_at(home).transaction():
            pass
    except HoloError as error:
        found.append(str(error))
    return found


def of_prefect(url: str | None, environ: Mapping[str, str], timeout_s: float) -> list[str]:
    """Return warnings if others can use the Prefect API, or read its database on this machine."""
    found = [f"It {OPEN}."] if url is not None and is_open(url, timeout_s) else []
    host = urlsplit(url or "http://127.0.0.1").hostname or ""
    kept = Path(environ.get("PREFECT_HOME") or "~/.prefect").expanduser() / "prefect.db"
    if (host == "localhost" or is_loopback(host)) and is_open_to_others(kept):
        found.append(
            f"Other users of this machine can read {kept}, which holds the secrets of all blocks and the key to them: "
            f"run `chmod 700 {kept.parent}`."
        )
    return found


def of_display(display: str, environ: Mapping[str, str]) -> list[str]:
    """Return a warning if secrets may be typed on a display that other programs share."""
    if not any(name.startswith(VARIABLE) for name in environ):
        return []
    return [
        f"Every program on display {display} can read text that is typed there, secrets included: let --app start the "
        "program on a virtual desktop."
    ]
