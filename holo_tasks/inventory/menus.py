"""The entries of programs' menus, unopened, and what is kept of them for each version of a program."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.visible_text import one_line
from holo_tasks.inventory.bounded import read_bounded
from holo_tasks.machine.private import open_private, private_folder
from holo_tasks.machine.proc import process

FOLDER = "inventory"
LARGEST, MOST_ENTRIES, ENTRY_CHARACTERS, DEEPEST = 64 * 1024, 60, 80, 4
ENTRIES = frozenset({"menu item", "check menu item", "radio menu item"})
MENUS = ENTRIES | {"menu"}
INTERPRETERS = re.compile(
    r"(?:ba|da|z)?sh\b|python|java|node|electron|perl|ruby|php|mono|wine|tclsh|wish|gjs|lua|guile"
)
"""Programs that are another one for each file that they run."""
OF_LATE = ("recent", "histor", "zuletzt", "verlauf", "récent")
"""Menus of these names list what a person has worked on: that is nothing of the program's."""


def menus_of(tree: ElementTree, pid: int) -> tuple[str, ...]:
    """Return the entries of a program's menus, as ``File > Save (Ctrl+S)``, in their order."""
    found: dict[str, None] = {}
    for element in tree.elements:
        if element.pid == pid and element.role in ENTRIES and element.name and not _has_entries(tree, element):
            path = [one for one in reversed(tree.ancestors(element)) if one.role in MENUS and one.name]
            names = [one_line(one.name, 40) for one in (*path[-DEEPEST:], element)]
            if not any(word in name.casefold() for name in names[:-1] for word in OF_LATE):
                keys = f" ({element.shortcut})" if element.shortcut else ""
                found.setdefault(one_line(" > ".join(names), ENTRY_CHARACTERS - len(keys)) + keys)
        if len(found) >= MOST_ENTRIES:
            break
    return tuple(found)


def _has_entries(tree: ElementTree, element: Element) -> bool:
    return any(child.role in MENUS for child in tree.children(element))


def version_of(pid: int) -> str:
    """Name the version of the program that a process runs; empty if nobody can say.

    What an interpreter runs is another program for each script, and another version where that was changed. How a
    program was started counts, but not which document it was started with: only of which kind that is.
    """
    place = process(pid)
    try:
        program = (place / "exe").readlink()
        what: list[object] = [_stamp(place / "exe", str(program))]
        words = (place / "cmdline").read_bytes()[:4096].decode(errors="replace").split("\0")[1:]
    except OSError:
        return ""
    runs = bool(INTERPRETERS.match(program.name))
    for word in filter(None, words):
        try:
            file = place / ("root" if word.startswith("/") else "cwd") / word.lstrip("/")
            told = None if word.startswith("-") or not file.is_file() else _stamp(file, word)
        except (OSError, ValueError):
            told = None
        # The first file is the script, the others are what it works on.
        what.append(word if told is None else told if runs else Path(word).suffix)
        runs = runs and told is None
    return hashlib.sha256(repr(what).encode()).hexdigest()[:32]


def _stamp(file: Path, name: str) -> tuple[str, int, int]:
    found = file.stat()
    return name, found.st_size, found.st_mtime_ns


def keep(home: Path | None, version: str, menus: Sequence[str]) -> None:
    """Keep the menus of a version of a program; what cannot be written is no reason to stop."""
    if home is None or not version or not menus:
        return
    with suppress(OSError):
        path = private_folder(home, FOLDER) / f"{version}.json"
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
            json.dump({"menus": list(menus)}, file)


def kept(home: Path | None, version: str) -> tuple[str, ...]:
    """Return the menus of a version of a program, as an earlier run found them."""
    content = read_bounded(home / FOLDER / f"{version}.json", LARGEST) if home is not None and version else None
    if content is None:
        return ()
    try:
        menus = json.loads(content)["menus"]
        return tuple(one_line(str(entry), ENTRY_CHARACTERS) for entry in menus[:MOST_ENTRIES])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
