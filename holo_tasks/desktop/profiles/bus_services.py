"""Find programs that the message bus can start. They have one instance on a bus, and often restore its documents."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from holo_tasks.desktop.profiles.instances import identifying_files

FOLDERS = (Path("/usr/share/dbus-1/services"), Path("/usr/local/share/dbus-1/services"))
_COMMAND = re.compile(r"^Exec=(.+)$", re.MULTILINE)


def is_bus_service(files: Sequence[Path]) -> bool:
    """Return whether a service of the session's message bus starts one of these ``files`` of a program."""
    wanted = {file.resolve() for file in files}
    return bool(wanted) and any(
        wanted & {file.resolve() for file in _files_of(service)}
        for folder in FOLDERS
        for service in folder.glob("*.service")
    )


def _files_of(service: Path) -> list[Path]:
    with contextlib.suppress(OSError, ValueError):  # ValueError: an unclosed quote
        if found := _COMMAND.search(service.read_text(encoding="utf-8", errors="replace")):
            words = shlex.split(found[1])
            return identifying_files(words, 0, [Path(words[0])])
    return []
