"""Location of local state: database, journal, keys and spool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from holo_tasks.core.paths import expanded


def holo_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return ``HOLO_HOME``, or ``holo-tasks`` under ``XDG_DATA_HOME`` (default ``~/.local/share``)."""
    env = os.environ if environ is None else environ
    if chosen := env.get("HOLO_HOME"):
        return expanded(chosen)
    data = env.get("XDG_DATA_HOME") or "~/.local/share"
    return expanded(data) / "holo-tasks"
