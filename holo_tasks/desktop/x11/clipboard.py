"""Reads the text that a paste would insert: the contents of X selections, requested as by any program."""

from __future__ import annotations

import time
from collections.abc import Collection

import xcffib.xproto

from holo_tasks.core.input.keynames import CONTROL, SHIFT, keysym, small
from holo_tasks.desktop.x11.x_connection import ANY, Refused, XConnection

CLIPBOARD, PRIMARY = "CLIPBOARD", "PRIMARY"
PATIENCE_S, NAP_S = 0.4, 0.002
"""Seconds to wait for a selection's owner, and between two looks for its answer. A program that hangs longer cannot
deliver its text to a paste either.
"""
NOW, LONGEST = 0, 1 << 20


def pasted_by(keys: Collection[str]) -> tuple[str, ...]:
    """Return the selections that one key combination, such as ``("ctrl", "v")``, may paste."""
    symbols = {small(keysym(key)) for key in keys}
    if CONTROL in symbols and symbols & {ord("v"), ord("y")}:
        return (CLIPBOARD,)
    return (CLIPBOARD, PRIMARY) if SHIFT in symbols and keysym("insert") in symbols else ()


def text_of(display: str, selection: str) -> str:
    """Return the text of a selection.

    Returns an empty string if the selection has no owner or no text, or if its owner does not answer in time.
    """
    link = XConnection(display)
    try:
        if not link.conn.core.GetSelectionOwner(link.atom(selection)).reply().owner:
            return ""
        window = link.conn.generate_id()
        link.conn.core.CreateWindow(0, window, link.root, -10, -10, 1, 1, 0, 1, 0, 0, [])
        for kind in ("UTF8_STRING", "STRING"):
            place = link.atom("HOLO_PASTED")
            link.conn.core.ConvertSelection(window, link.atom(selection), link.atom(kind), place, NOW)
            if _wait_for_answer(link):
                found = link.conn.core.GetProperty(False, window, place, ANY, 0, LONGEST).reply()
                code = "utf-8" if kind == "UTF8_STRING" else "latin-1"
                return bytes(found.value.buf()).decode(code, errors="replace") if found.format == 8 else ""
    except Refused:
        return ""
    finally:
        link.close()
    return ""


def _wait_for_answer(link: XConnection) -> bool:
    """Wait for the owner's answer. Return false if none arrives in time, or if the owner refuses this format."""
    link.conn.flush()
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        event = link.conn.poll_for_event()
        if isinstance(event, xcffib.xproto.SelectionNotifyEvent):
            return bool(event.property)
        if event is None:
            time.sleep(NAP_S)
    return False
