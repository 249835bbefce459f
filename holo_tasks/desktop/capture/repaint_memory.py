"""Store the self-repainting areas of a borrowed screen for the next process, in a small file for this user only.

A property on the root window holds a random name of the X server. It ends with the server, so a later server with the
same display number has another name. The file holds boxes and paces, and no contents of the screen.

`begin_watch` is the main function; the process that owns the desktop calls it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from xcffib.xproto import Atom, PropMode

from holo_tasks.core.errors import HoloError
from holo_tasks.core.repaints.known_repaints import MOST_BYTES, KnownPlace, read, still_there, to_text, with_windows
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop.capture.recent_frames import arrangement
from holo_tasks.desktop.capture.repaint_watch import RepaintWatch
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.x11.x_connection import Gone, Refused, XConnection
from holo_tasks.machine.clock import boot_s
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.private import open_private, private_folder

FOLDER = "screens"
PROPERTY = "_HOLO_TASKS_SCREEN"
STALE_S = 60.0
"""Age from which a draft counts as left over by a process that ended while it wrote."""
_TOKEN = re.compile(r"[0-9a-f]{32}")
_FAILS = (HoloError, OSError, ValueError, *Refused, *Gone)
"""Errors that are ignored, because the stored areas are optional: without them each process learns the areas itself."""


def begin_watch(link: XConnection, repaints: Repaints, away: Callable[[], bool], *, lasts: bool) -> RepaintWatch:
    """Start a repaint watch over its own connection.

    With ``lasts`` it starts with the stored areas, and stores the learned areas at its end.
    """
    watch = RepaintWatch(repaints, XConnection(link.display), away)
    if lasts and repaints.exact:
        recall(link, watch)
        watch.keep = partial(keep, link, watch)
    return watch


def recall(link: XConnection, watch: RepaintWatch) -> None:
    """Make a watch expect the stored areas whose windows still exist."""
    with contextlib.suppress(*_FAILS):
        if screen := _token(link):
            size = link.size()
            known = load(_path(holo_home(), link.display), screen, size, boot_s())
            if known:
                watch.expect(still_there(known, arrangement(link)))


def keep(link: XConnection, watch: RepaintWatch) -> None:
    """Store the areas that a watch has learned, if any, for the next process."""
    with contextlib.suppress(*_FAILS):
        before, learned = arrangement(link), watch.learned()
        if not learned or arrangement(link) != before:
            return
        screen = _token(link) or _name(link)
        text = to_text(with_windows(learned, before), screen, link.size(), boot_s())
        save(_path(private_folder(holo_home()), link.display), text)


def load(path: Path, screen: str, size: Size, now_s: float) -> list[KnownPlace]:
    """Return the areas in a file; none unless the file is this user's and no other user may write it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        found = os.fstat(descriptor)
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
        return read(os.read(descriptor, MOST_BYTES + 1), screen, size, now_s) if ours else []
    except OSError:
        return []
    finally:
        os.close(descriptor)


def save(path: Path, text: str) -> None:
    """Replace the file by a text in one step, readable by this user only. Raises `OSError` and `InvalidUsage`.

    The last of several processes wins. A process that ends meanwhile leaves the file unchanged, and a draft that a
    later process removes.
    """
    folder = private_folder(path.parent.parent, path.parent.name)
    for left in _stale(folder):
        left.unlink(missing_ok=True)
    draft = folder / f".{secrets.token_hex(8)}.part"
    try:
        with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _stale(folder: Path) -> Iterator[Path]:
    for draft in folder.glob(".*.part"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - draft.lstat().st_mtime > STALE_S:
                yield draft


def _path(home: Path, display: str) -> Path:
    """Return the file for a display. It is named by a digest, because a display's name can be any text."""
    return home / FOLDER / f"{hashlib.sha256(display.encode(errors='surrogateescape')).hexdigest()[:32]}.json"


def _token(link: XConnection) -> str:
    """Return the stored name of this X server, or an empty string if it has none."""
    found = link.text(link.root, PROPERTY)
    return found if _TOKEN.fullmatch(found) else ""


def _name(link: XConnection) -> str:
    """Store a new random name on this X server's root window, and return it."""
    name = secrets.token_hex(16)
    core = link.conn.core
    core.ChangeProperty(
        PropMode.Replace, link.root, link.atom(PROPERTY), Atom.STRING, 8, len(name), name, is_checked=True
    ).check()
    return name
