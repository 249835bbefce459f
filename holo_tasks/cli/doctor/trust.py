"""What of this machine's set-up breaks what is trusted: told as a warning, for a run works all the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from holo_tasks.core.errors import HoloError
from holo_tasks.core.this_machine import is_loopback
from holo_tasks.machine.private import DATABASE, OURS, open_to_others, replaceable
from holo_tasks.prefect_server.temporary import OPEN, is_open
from holo_tasks.run.secret_sources import VARIABLE
from holo_tasks.safety.database_address import DATABASE_VARIABLE
from holo_tasks.safety.store import store_at


def of_home(home: Path) -> list[str]:
    """Return what others can get at of a home, and what is wrong with its database; a shared one has its own check."""
    wide = [home / name for name in sorted({*OURS, DATABASE}) if open_to_others(home / name)]
    found = [f"Other users of this machine can get at {path}: run `chmod -R go= {path}`." for path in wide]
    if home.is_dir() and (folder := replaceable(home)):
        found.append(
            f"Other users of this machine could put something in the place of what is in {folder}, such as another "
            f"key: let it belong to this user or to root, and run `chmod go-w {folder}`."
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
    """Return who else can speak to the API, or read what its server on this machine keeps."""
    found = [f"It {OPEN}."] if url is not None and is_open(url, timeout_s) else []
    host = urlsplit(url or "http://127.0.0.1").hostname or ""
    kept = Path(environ.get("PREFECT_HOME") or "~/.prefect").expanduser() / "prefect.db"
    if (host == "localhost" or is_loopback(host)) and open_to_others(kept):
        found.append(
            f"Other users of this machine can read {kept}, which holds the secrets of all blocks and the key to them: "
            f"run `chmod 700 {kept.parent}`."
        )
    return found


def of_display(display: str, environ: Mapping[str, str]) -> list[str]:
    """Return what a display that was not made for the agent means for secrets that are there to be typed."""
    if not any(name.startswith(VARIABLE) for name in environ):
        return []
    return [
        f"Every program on display {display} can read what is typed there, secrets too: let --app start the program on "
        "a display of its own."
    ]
