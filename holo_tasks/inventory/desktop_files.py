"""Find startable programs by their desktop files, without starting them.

Other users may have written these files, if they can write to one of the folders. So they are read within limits, and
their texts are data. `startable` is the main function.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from holo_tasks.core.elements.inventory import Startable
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.inventory.bounded_reading import data_home, files_below, read_bounded

LARGEST, MOST_FILES, MOST_PROGRAMS = 64 * 1024, 2000, 400
"""Limits: bytes of a file, number of files, and number of programs."""
NAME_CHARACTERS, COMMAND_CHARACTERS, MOST_CATEGORIES = 60, 60, 8
"""Limits of a program's text: characters of its name and command, and number of categories."""
USUAL = "/usr/local/share:/usr/share"
_GENERIC_CATEGORIES = frozenset({"GTK", "GNOME", "KDE", "Qt", "XFCE", "Core", "ConsoleOnly", "X-GNOME-Utilities"})
"""Categories that say nothing about the purpose of a program."""


def startable(environment: Mapping[str, str], *, until_s: float) -> tuple[Startable, ...]:
    """Return the programs that are found before ``until_s`` (`time.monotonic`), in order of their names."""
    known: dict[str, Startable | None] = {}
    path = environment.get("PATH", os.defpath)
    for folder in folders(environment):
        for file in files_below(folder, ".desktop", most=MOST_FILES, until_s=until_s):
            # The first folder takes precedence, even if its file hides the program.
            name = str(file.relative_to(folder))
            if name in known:
                continue
            if time.monotonic() > until_s or len(known) >= MOST_FILES:
                break
            known[name] = _program(file, path)
    found = {str(one): one for one in known.values() if one is not None}
    return tuple(sorted(found.values(), key=lambda one: (one.name.casefold(), one.command)))[:MOST_PROGRAMS]


def folders(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders of desktop files, in order of precedence."""
    named = [str(data_home(environment)), *(environment.get("XDG_DATA_DIRS") or USUAL).split(":")]
    return [Path(one) / "applications" for one in dict.fromkeys(named) if one.startswith("/")]


def _program(file: Path, path: str) -> Startable | None:
    """Return the program of a desktop file, or ``None`` if it is hidden, not installed or another kind of entry."""
    content = read_bounded(file, LARGEST)
    if content is None:
        return None
    entries = dict(_entries(content.decode("utf-8", errors="replace")))
    hidden = any(entries.get(name, "").strip().lower() == "true" for name in ("NoDisplay", "Hidden"))
    name, command = one_line(entries.get("Name", ""), NAME_CHARACTERS), _command(entries.get("Exec", ""))
    if entries.get("Type", "").strip() != "Application" or hidden or not name or not command:
        return None
    if not all(
        shutil.which(_first(command_line), path=path) for command_line in (entries.get("TryExec") or command, command)
    ):
        return None
    categories = [
        one_line(category, 30)
        for category in entries.get("Categories", "").split(";")[:MOST_CATEGORIES]
        if category.strip()
    ]
    return Startable(
        name, _first(command).rpartition("/")[2], tuple(c for c in categories if c not in _GENERIC_CATEGORIES)
    )


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of the group ``[Desktop Entry]``. Other groups are actions of the program."""
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
    """Return the command without placeholders such as ``%f``, which a file manager would fill in."""
    return one_line(" ".join(part for part in text.split() if not part.startswith("%")), COMMAND_CHARACTERS)


def _first(command: str) -> str:
    """Return the program of a command, without `env` and variables before it."""
    for part in command.replace('"', " ").split():
        if part != "env" and "=" not in part:
            return part
    return ""
