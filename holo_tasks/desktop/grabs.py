"""Whether a program holds the keyboard or the pointer: it then gets them, whatever has the focus or lies at a point.

Menus, launchers and screen lockers grab. The X server tells that a grab is there, and not to whom it belongs. To keys
that a client only listens to (XI2's raw events, RECORD), or that it asked for one by one, this says nothing: on a
display that programs share, each of them can read along.
"""

from __future__ import annotations

import time
from weakref import WeakKeyDictionary

from holo_tasks.core.geometry import Point
from holo_tasks.desktop.windows import shown
from holo_tasks.desktop.xlink import Refused, XLink

NOW = 0
ASYNCHRONOUS = 1
ALREADY_GRABBED, SUCCESS = 1, 0
PATIENCE_S, NAP_S = 0.3, 0.01
"""A window manager holds the pointer from a press on until it has decided whom to focus."""
_hidden: WeakKeyDictionary[XLink, int] = WeakKeyDictionary()


def held(link: XLink, at: Point | None) -> bool:
    """Say whether a program holds the pointer, for a press at a point, or the keyboard; one that lets go is awaited."""
    until = time.monotonic() + PATIENCE_S
    while _is_held(link, keyboard=at is None):
        if link.alone or time.monotonic() >= until:
            return True
        time.sleep(NAP_S)
    return False


def popup(link: XLink) -> int:
    """Return the topmost window that no window manager manages, as menus and lockers are; zero if there is none."""
    for window in reversed(shown(link)):
        try:
            if link.conn.core.GetWindowAttributes(window).reply().override_redirect:
                return window
        except Refused:
            continue  # closed while we looked
    return 0


def _is_held(link: XLink, *, keyboard: bool) -> bool:
    """Ask for a grab that cannot come about, because its window is not on the screen; servers look for others' first.

    A grab that did would take the focus away for a moment, and programs show that.
    """
    core = link.conn.core
    if link not in _hidden:
        _hidden[link] = link.conn.generate_id()
        core.CreateWindow(0, _hidden[link], link.root, -10, -10, 1, 1, 0, 1, 0, 0, [])
    window, mode = _hidden[link], ASYNCHRONOUS
    if keyboard:
        asked, undo = core.GrabKeyboard(False, window, NOW, mode, mode), core.UngrabKeyboard
    else:
        asked, undo = core.GrabPointer(False, window, 0, mode, mode, 0, 0, NOW), core.UngrabPointer
    status = asked.reply().status
    if status == SUCCESS:
        undo(NOW)
    return bool(status == ALREADY_GRABBED)
