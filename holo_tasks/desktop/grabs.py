"""Whether a program holds the keyboard or the pointer: it then gets them, whatever has the focus or lies at a point.

Menus, launchers and screen lockers grab. The X server tells that a grab is there, and not to whom it belongs. Single
keys can be asked for beforehand (`taken`), as hot keys are. To keys that a client only listens to (XI2's raw events,
RECORD) this says nothing: on a display that programs share, each of them can read along.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import xcffib.xinput
import xcffib.xproto

from holo_tasks.core.geometry import Point
from holo_tasks.desktop.windows import shown
from holo_tasks.desktop.xlink import Refused, XLink

NOW = 0
ASYNCHRONOUS = 1
ALREADY_GRABBED, SUCCESS = 1, 0
PATIENCE_S, NAP_S = 0.3, 0.01
"""A window manager holds the pointer from a press on until it has decided whom to focus."""
ALL_DEVICES, BY_KEYCODE, KEY_PRESS = 0, 1, 1 << 2
_hidden: WeakKeyDictionary[XLink, int] = WeakKeyDictionary()
_inputs: WeakKeyDictionary[XLink, Any] = WeakKeyDictionary()


def held(link: XLink, at: Point | None) -> bool:
    """Say whether a program holds the pointer, for a press at a point, or the keyboard; one that lets go is awaited."""
    until = time.monotonic() + PATIENCE_S
    while _is_held(link, keyboard=at is None):
        if link.alone or time.monotonic() >= until:
            return True
        time.sleep(NAP_S)
    return False


def taken(link: XLink, keys: Iterable[tuple[int, int]], windows: Iterable[int]) -> bool:
    """Say whether a program asked to get one of some keys, each with its modifiers, whatever window has the keyboard.

    ``windows`` are those that such a key passes, from the one it is for up to the root. Each key is asked for there in
    turn, which the server refuses where another client asked before, and given back at once. Chords that a window
    manager asked for are no such keys, unless they are typed.
    """
    core, inputs = link.conn.core, _input(link)
    asked: list[Any] = []
    answers: list[Any] = []
    keys = list(dict.fromkeys(keys))
    for window in windows:
        for code, modifiers in keys:
            asked.append(core.GrabKeyChecked(False, window, modifiers, code, ASYNCHRONOUS, ASYNCHRONOUS))
            core.UngrabKey(code, window, modifiers)
            if inputs is not None:
                one = (1, 1, BY_KEYCODE, ASYNCHRONOUS, ASYNCHRONOUS, False, [KEY_PRESS], [modifiers])
                answers.append(inputs.XIPassiveGrabDevice(NOW, window, 0, code, ALL_DEVICES, *one))
                inputs.XIPassiveUngrabDevice(window, code, ALL_DEVICES, 1, BY_KEYCODE, [modifiers])
    found = [_refused(cookie) for cookie in asked]  # all of them: an answer that nobody takes stays in memory
    found += [_failed(cookie) for cookie in answers]
    return any(found)


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


def _input(link: XLink) -> Any:
    """Return the extension with which programs ask for keys of single devices; None on a server that lacks it."""
    if link not in _inputs:
        inputs = link.conn(xcffib.xinput.key) if link.has("XInputExtension") else None
        version = inputs.XIQueryVersion(2, 0).reply() if inputs is not None else None
        _inputs[link] = inputs if version is not None and version.major_version >= 2 else None
    return _inputs[link]


def _refused(cookie: Any) -> bool:
    try:
        cookie.check()
    except xcffib.xproto.AccessError:
        return True
    except Refused:
        pass  # the window was closed meanwhile
    return False


def _failed(cookie: Any) -> bool:
    try:
        return any(info.status != SUCCESS for info in cookie.reply().modifiers)
    except Refused:
        return False
