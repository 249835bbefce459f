"""Where local state lives: ledger, journal, keys, spool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage


def holo_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return ``HOLO_HOME``, or ``holo-tasks`` under ``XDG_DATA_HOME`` (default ``~/.local/share``)."""
    env = os.environ if environ is None else environ
    if chosen := env.get("HOLO_HOME"):
        return expanded(chosen)
    data = env.get("XDG_DATA_HOME") or "~/.local/share"
    return expanded(data) / "holo-tasks"


def expanded(path: str) -> Path:
    """Return a path with its ``~`` filled in, or raise `InvalidUsage` if nobody lives there."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InvalidUsage(f"{path!r} names no home folder; give a whole path.") from None
