"""The programs that can be started here, by their desktop files; nothing is started.

Anybody who may write into one of the folders wrote them: they are read within limits, and their texts are data.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from holo_tasks.core.inventory import Startable
from holo_tasks.core.visible_text import one_line
from holo_tasks.inventory.bounded import data_home, files_below, read_bounded

LARGEST, MOST_FILES, MOST_PROGRAMS = 64 * 1024, 2000, 400
NAME_CHARACTERS, COMMAND_CHARACTERS, MOST_CATEGORIES = 60, 60, 8
USUAL = "/usr/local/share:/usr/share"
_TELLING_NOTHING = frozenset({"GTK", "GNOME", "KDE", "Qt", "XFCE", "Core", "ConsoleOnly", "X-GNOME-Utilities"})


def startable(environment: Mapping[str, str], *, until_s: float) -> tuple[Startable, ...]:
    """Return the programs, in the order of their names; those that are found until a time (`time.monotonic`)."""
    known: dict[str, Startable | None] = {}
    path = environment.get("PATH", os.defpath)
    for folder in folders(environment):
        for file in files_below(folder, ".desktop", most=MOST_FILES, until_s=until_s):
            # The first folder counts, also where its file says that there is no such program.
            name = str(file.relative_to(folder))
            if name in known:
                continue
            if time.monotonic() > until_s or len(known) >= MOST_FILES:
                break
            known[name] = _program(file, path)
    found = {str(one): one for one in known.values() if one is not None}
    return tuple(sorted(found.values(), key=lambda one: (one.name.casefold(), one.command)))[:MOST_PROGRAMS]


def folders(environment: Mapping[str, str]) -> list[Path]:
    """Return where desktop files are, the ones that count first at the front."""
    named = [str(data_home(environment)), *(environment.get("XDG_DATA_DIRS") or USUAL).split(":")]
    return [Path(one) / "applications" for one in dict.fromkeys(named) if one.startswith("/")]


def _program(file: Path, path: str) -> Startable | None:
    """Return the program of a desktop file; None for one that is no program, is hidden or is not installed."""
    content = read_bounded(file, LARGEST)
    if content is None:
        return None
    told = dict(_entries(content.decode("utf-8", errors="replace")))
    hidden = any(told.get(name, "").strip().lower() == "true" for name in ("NoDisplay", "Hidden"))
    name, command = one_line(told.get("Name", ""), NAME_CHARACTERS), _command(told.get("Exec", ""))
    if told.get("Type", "").strip() != "Application" or hidden or not name or not command:
        return None
    if not all(shutil.which(_first(one), path=path) for one in (told.get("TryExec") or command, command)):
        return None
    categories = [one_line(one, 30) for one in told.get("Categories", "").split(";")[:MOST_CATEGORIES] if one.strip()]
    return Startable(
        name, _first(command).rpartition("/")[2], tuple(c for c in categories if c not in _TELLING_NOTHING)
    )


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield what the group of the program says; other groups are actions of it, and are not read."""
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            if inside:
                return
            inside = line.strip() == "[Desktop Entry]"
        elif inside and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _command(text: str) -> str:
    """Return the command without what a file manager would fill in."""
    return one_line(" ".join(part for part in text.split() if not part.startswith("%")), COMMAND_CHARACTERS)


def _first(command: str) -> str:
    """Return the program of a command, which may be behind `env` and variables."""
    for part in command.replace('"', " ").split():
        if part != "env" and "=" not in part:
            return part
    return ""
