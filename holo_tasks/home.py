"""Where local state lives: ledger, journal, keys, spool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def holo_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return ``HOLO_HOME``, or ``holo-tasks`` under ``XDG_DATA_HOME`` (default ``~/.local/share``)."""
    env = os.environ if environ is None else environ
    if chosen := env.get("HOLO_HOME"):
        return Path(chosen).expanduser()
    data = env.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "holo-tasks"
