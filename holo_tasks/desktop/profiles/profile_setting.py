"""The `profiles` setting of a desktop: `new`, `kept` or `kept:NAME`."""

from __future__ import annotations

import re
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.home import holo_home

NEW, KEPT = "new", "kept"
FOLDER = "profiles"
"""Folder of kept profiles, below `HOLO_HOME`."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


def kept_profile_folder(profiles: str, *, program: str, run_as: str = "") -> Path | None:
    """Return the folder of a kept profile, or None for a new profile.

    ``profiles`` is ``new``, ``kept`` or ``kept:NAME``. Without a name, the profile gets the name of the ``program``.
    Raises `InvalidUsage` for anything else.
    """
    word, colon, name = profiles.strip().partition(":")
    if word == NEW and not colon:
        return None
    if word != KEPT or (colon and not _NAME.fullmatch(name)):
        raise InvalidUsage(
            f"profiles is new, kept or kept:NAME, with a name of letters, digits, dots and dashes, not {profiles!r}."
        )
    if run_as:
        raise InvalidUsage(
            "A kept profile belongs to the agent's user, and the user of run_as cannot read it: name a profile of "
            "that user in the program's command, or leave profiles at new."
        )
    name = name or re.sub(r"[^\w.-]", "-", Path(program).name).lstrip(".-_")[:64] or "program"
    return holo_home() / FOLDER / name
