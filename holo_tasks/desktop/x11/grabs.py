"""Detects grabs: a program that grabs the keyboard or the pointer gets its input, regardless of focus and position.

Menus, launchers and screen lockers grab. The X server reports that a grab exists, but not whose it is. Single keys can
be grabbed in advance (`taken`), as hot keys are. Clients that only listen to keys (XI2's raw events, RECORD) are not
detected: on a display that programs share, each program can record all keys.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import xcffib.xinput
import xcffib.xproto

from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.x11.windows import shown_windows
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

NOW = 0
ASYNCHRONOUS = 1
ALREADY_GRABBED, SUCCESS = 1, 0
PATIENCE_S, NAP_S = 0.3, 0.01
"""Seconds to wait for a release. A window manager grabs the pointer from a press until it has decided which window to
focus.
"""
ALL_DEVICES, BY_KEYCODE, KEY_PRESS = 0, 1, 1 << 2
_hidden: WeakKeyDictionary[XConnection, int] = WeakKeyDictionary()
_inputs: WeakKeyDictionary[XConnection, Any] = WeakKeyDictionary()


def held(link: XConnection, at: Point | None) -> bool:
    """Return whether a program grabs the pointer or, without a point, the keyboard. A short grab is waited out."""
    until = time.monotonic() + PATIENCE_S
    while _is_held(link, keyboard=at is None):
        if link.alone or time.monotonic() >= until:
            return True
        time.sleep(NAP_S)
    return False


def taken(link: XConnection, keys: Iterable[tuple[int, int]], windows: Iterable[int]) -> bool:
    """Return whether a program has a passive grab on one of some keys, each given with its modifiers.

    ``windows`` are those on the way of such a key, from the focused one up to the root. Each key is grabbed on each
    window in turn, and released at once. The server refuses the grab if another client has it. Key combinations of a
    window manager matter only if they are typed.
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
    found = [_is_denied(cookie) for cookie in asked]  # no short-circuit: unread replies would stay in memory
    found += [_has_failed(cookie) for cookie in answers]
    return any(found)


def popup(link: XConnection) -> int:
    """Return the topmost override-redirect window, such as a menu or a locker. Returns zero without one."""
    for window in reversed(shown_windows(link)):
        try:
            if link.conn.core.GetWindowAttributes(window).reply().override_redirect:
                return window
        except Refused:
            continue  # closed meanwhile
    return 0


def _is_held(link: XConnection, *, keyboard: bool) -> bool:
    """Request a grab that cannot succeed, because its window is unmapped.

    Servers report an existing grab before that error.

    A successful grab would take the focus away for a moment, and programs show that.
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


def _input(link: XConnection) -> Any:
    """Return the XInput extension for passive grabs on single devices. ``None`` if the server lacks version 2."""
    if link not in _inputs:
        inputs = link.conn(xcffib.xinput.key) if link.has("XInputExtension") else None
        version = inputs.XIQueryVersion(2, 0).reply() if inputs is not None else None
        _inputs[link] = inputs if version is not None and version.major_version >= 2 else None
    return _inputs[link]


def _is_denied(cookie: Any) -> bool:
    try:
        cookie.check()
    except xcffib.xproto.AccessError:
        return True
    except Refused:
        pass  # the window was closed meanwhile
    return False


def _has_failed(cookie: Any) -> bool:
    try:
        return any(info.status != SUCCESS for info in cookie.reply().modifiers)
    except Refused:
        return False
