"""List the windows on a screen, and find the active one. `windows` is the main function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from holo_tasks.core.screen.geometry import Box

if TYPE_CHECKING:
    from holo_tasks.desktop.x11.x_connection import XConnection

# Windows with a side below this many pixels are invisible helpers of programs.
LEAST = 16


@dataclass(frozen=True, slots=True)
class Window:
    """A window of a program: its content without the frame, in screen pixels.

    ``pid`` is the program's own `_NET_WM_PID`, zero if it is not set.
    """

    id: int
    title: str
    pid: int
    box: Box
    active: bool

    def described(self) -> dict[str, Any]:
        """Return plain values for a message."""
        return asdict(self)

    @classmethod
    def from_description(cls, values: dict[str, Any]) -> Window:
        """Create a window from the values of `described`."""
        return cls(**{**values, "box": Box(**values["box"])})


def windows(link: XConnection) -> list[Window]:
    """List the visible windows, the topmost last."""
    from holo_tasks.desktop.x11.x_connection import Refused

    active = active_window(link)
    found = []
    for window in link.numbers(link.root, "_NET_CLIENT_LIST_STACKING") or shown_windows(link):
        try:
            if link.conn.core.GetWindowAttributes(window).reply().map_state != 2:
                continue
            title = link.text(window, "_NET_WM_NAME") or link.text(window, "WM_NAME")
            pid = (link.numbers(window, "_NET_WM_PID") or [0])[0]
            found.append(Window(window, title, pid, box(link, window), window == active))
        except Refused:
            continue  # it was closed meanwhile
    return found


def shown_windows(link: XConnection) -> list[int]:
    """List the children of the root window that are mapped, on the screen and at least ``LEAST`` pixels large."""
    size, found = link.size(), list[int]()
    for child in link.root_children():
        area = child.inside
        on_screen = area.left < size.width and area.top < size.height and area.right > 0 and area.bottom > 0
        if not child.input_only and on_screen and area.width >= LEAST and area.height >= LEAST:
            found.append(child.window)
    return found


def is_splash(link: XConnection, window: int) -> bool:
    """Return whether a child of the root window is, or frames, a picture that a program shows while it starts."""
    from holo_tasks.desktop.x11.x_connection import Refused

    splash = link.atom("_NET_WM_WINDOW_TYPE_SPLASH")
    with suppress(*Refused):
        inside = link.conn.core.QueryTree(window).reply().children
        return any(splash in link.numbers(each, "_NET_WM_WINDOW_TYPE") for each in (window, *inside))
    return False


def box(link: XConnection, window: int) -> Box:
    """Return the box of a window's content in screen pixels."""
    return where_of(link, window)()


def where_of(link: XConnection, window: int) -> Callable[[], Box]:
    """Request the box of a window's content; the returned function waits for the reply."""
    asked = link.conn.core.GetGeometry(window), link.conn.core.TranslateCoordinates(window, link.root, 0, 0)

    def answer() -> Box:
        geometry, corner = asked[0].reply(), asked[1].reply()
        return Box(corner.dst_x, corner.dst_y, geometry.width, geometry.height)

    return answer


def active_window(link: XConnection) -> int:
    """Return the active window, zero if no window is active.

    The window manager names it. Without a window manager it is the window with the input focus or, if the focus follows
    the pointer, the window under the pointer.
    """
    for window in link.numbers(link.root, "_NET_ACTIVE_WINDOW"):
        if window:
            return window
    focus = link.conn.core.GetInputFocus().reply().focus
    if focus in (0, 1, link.root):  # None, PointerRoot
        focus = link.conn.core.QueryPointer(link.root).reply().child
    return client_of(link, focus) if focus else 0


def client_of(link: XConnection, window: int) -> int:
    """Return the program's top window (with WM_PROTOCOLS) that contains a window or is its child.

    Returns the window itself if it has no such window, and zero if it was closed.
    """
    from holo_tasks.desktop.x11.x_connection import Refused

    try:
        above = window
        while above and above != link.root:
            if link.numbers(above, "WM_PROTOCOLS"):
                return above
            above = link.conn.core.QueryTree(above).reply().parent
        # A frame has dozens of children: all requests are sent before the first reply is waited for.
        children = link.conn.core.QueryTree(window).reply().children
        asked = [(child, link.property(child, "WM_PROTOCOLS")) for child in children]
        held = [child for child, cookie in asked if cookie.reply().value_len]
        if held:
            return int(held[0])
    except Refused:
        return 0
    return window
