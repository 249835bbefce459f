"""Read the menu entries of running programs from the accessibility tree, and cache them by program version.

`menus_of` reads them, and `version_of` identifies the version. `save_menus` and `saved_menus` cache the entries under
``HOLO_HOME``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.inventory.bounded_reading import read_bounded
from holo_tasks.machine.private import open_private, private_folder
from holo_tasks.machine.proc import process

FOLDER = "inventory"
LARGEST, MOST_ENTRIES, ENTRY_CHARACTERS, DEEPEST = 64 * 1024, 60, 80, 4
"""Limits: bytes of a cache file, number of entries, characters of an entry, and depth of menus."""
ENTRIES = frozenset({"menu item", "check menu item", "radio menu item"})
MENUS = ENTRIES | {"menu"}
INTERPRETERS = re.compile(
    r"(?:ba|da|z)?sh\b|python|java|node|electron|perl|ruby|php|mono|wine|tclsh|wish|gjs|lua|guile"
)
"""Programs that run another program's file, such as a script."""
HISTORY_WORDS = ("recent", "histor", "zuletzt", "verlauf", "récent")
"""Parts of names of menus that list a person's documents. Their entries do not belong to the program."""


def menus_of(tree: ElementTree, pid: int) -> tuple[str, ...]:
    """Return the menu entries of a program, such as ``File > Save (Ctrl+S)``, in order."""
    found: dict[str, None] = {}
    for element in tree.elements:
        if element.pid == pid and element.role in ENTRIES and element.name and not _has_entries(tree, element):
            path = [one for one in reversed(tree.ancestors(element)) if one.role in MENUS and one.name]
            names = [one_line(one.name, 40) for one in (*path[-DEEPEST:], element)]
            if not any(word in name.casefold() for name in names[:-1] for word in HISTORY_WORDS):
                keys = f" ({element.shortcut})" if element.shortcut else ""
                found.setdefault(one_line(" > ".join(names), ENTRY_CHARACTERS - len(keys)) + keys)
        if len(found) >= MOST_ENTRIES:
            break
    return tuple(found)


def _has_entries(tree: ElementTree, element: Element) -> bool:
    return any(child.role in MENUS for child in tree.children(element))


def version_of(pid: int) -> str:
    """Return an id of the program version that a process runs, or an empty string if it is unknown.

    An interpreter counts as a different program for each script, and as a different version after a change of the
    script. Options of the command line count. A document counts only by its suffix.
    """
    place = process(pid)
    try:
        program = (place / "exe").readlink()
        parts: list[object] = [_stamp(place / "exe", str(program))]
        words = (place / "cmdline").read_bytes()[:4096].decode(errors="replace").split("\0")[1:]
    except OSError:
        return ""
    expects_script = bool(INTERPRETERS.match(program.name))
    for word in filter(None, words):
        try:
            file = place / ("root" if word.startswith("/") else "cwd") / word.lstrip("/")
            stamp = None if word.startswith("-") or not file.is_file() else _stamp(file, word)
        except (OSError, ValueError):
            stamp = None
        # The first file of an interpreter is the script; other files are documents.
        parts.append(word if stamp is None else stamp if expects_script else Path(word).suffix)
        expects_script = expects_script and stamp is None
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _stamp(file: Path, name: str) -> tuple[str, int, int]:
    found = file.stat()
    return name, found.st_size, found.st_mtime_ns


def save_menus(home: Path | None, version: str, menus: Sequence[str]) -> None:
    """Store the menu entries of a program version. Write errors are ignored."""
    if home is None or not version or not menus:
        return
    with suppress(OSError):
        path = private_folder(home, FOLDER) / f"{version}.json"
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
            json.dump({"menus": list(menus)}, file)


def saved_menus(home: Path | None, version: str) -> tuple[str, ...]:
    """Return the menu entries that an earlier run stored for a program version, or ()."""
    content = read_bounded(home / FOLDER / f"{version}.json", LARGEST) if home is not None and version else None
    if content is None:
        return ()
    try:
        menus = json.loads(content)["menus"]
        return tuple(one_line(str(entry), ENTRY_CHARACTERS) for entry in menus[:MOST_ENTRIES])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
