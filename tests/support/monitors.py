"""Give a display several monitors, as `xrandr --setmonitor` does."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

import xcffib
import xcffib.randr
import xcffib.xproto

from holo_tasks.core.screen.geometry import Box


class Displayed(Protocol):
    display: str

    @property
    def authority(self) -> Path: ...


def set_monitors(desktop: Displayed, boxes: Mapping[str, Box]) -> None:
    """Define the monitors. The first one is primary and replaces the server's own output."""
    with _connected(desktop) as (conn, root, randr):
        # an existing monitor cannot be changed, only deleted
        for monitor in randr.GetMonitors(root, True).reply().monitors:
            if not monitor.automatic:
                randr.DeleteMonitor(root, monitor.name, is_checked=True).check()
        resources = randr.GetScreenResourcesCurrent(root).reply()
        for number, (name, box) in enumerate(boxes.items()):
            outputs = list(resources.outputs)[:1] if number == 0 else []
            info = xcffib.randr.MonitorInfo.synthetic(
                _atom(conn, name), number == 0, False, len(outputs), box.left, box.top, box.width, box.height,
                max(1, box.width * 254 // 960), max(1, box.height * 254 // 960), outputs,
            )  # fmt: skip
            randr.SetMonitor(root, info, is_checked=True).check()


def forget_monitor(desktop: Displayed, name: str) -> None:
    """Remove a monitor."""
    with _connected(desktop) as (conn, root, randr):
        randr.DeleteMonitor(root, _atom(conn, name), is_checked=True).check()


def set_resources(desktop: Displayed, text: str) -> None:
    """Set X resources on the display, as `xrdb` does. Scaling is such a resource."""
    with _connected(desktop) as (conn, root, _):
        atom, string = _atom(conn, "RESOURCE_MANAGER"), xcffib.xproto.Atom.STRING
        conn.core.ChangePropertyChecked(
            xcffib.xproto.PropMode.Replace, root, atom, string, 8, len(text), text.encode()
        ).check()


@contextmanager
def restless(desktop: Displayed, box: Box) -> Iterator[None]:
    """Repaint a part of the screen in alternating colours all the time."""
    over = threading.Event()

    def draw() -> None:
        with _connected(desktop) as (conn, root, _):
            for color in cycle((0xFF0000, 0x00FF00)):
                context = conn.generate_id()
                conn.core.CreateGC(context, root, xcffib.xproto.GC.Foreground, [color])
                spot = xcffib.xproto.RECTANGLE.synthetic(box.left + 50, box.top + 50, 200, 200)
                conn.core.PolyFillRectangle(root, context, 1, [spot])
                conn.core.FreeGC(context)
                conn.flush()
                if over.wait(0.01):
                    return

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _connected(desktop: Displayed) -> Iterator[tuple[Any, int, Any]]:
    before = os.environ.get("XAUTHORITY")
    os.environ["XAUTHORITY"] = str(desktop.authority)
    try:
        conn: Any = xcffib.connect(display=desktop.display)
    finally:
        if before is None:
            os.environ.pop("XAUTHORITY")
        else:
            os.environ["XAUTHORITY"] = before
    try:
        randr = conn(xcffib.randr.key)
        randr.QueryVersion(1, 5).reply()
        yield conn, conn.get_setup().roots[0].root, randr
    finally:
        conn.disconnect()


def _atom(conn: Any, name: str) -> int:
    return int(conn.core.InternAtom(False, len(name), name).reply().atom)
