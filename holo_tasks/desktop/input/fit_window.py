"""Bring a window into the screen that reaches beyond its edge, by the window manager. The program gets no input."""

from __future__ import annotations

from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.capture.liveness_ping import CLIENT_MESSAGE, TO_MANAGER, Pinger
from holo_tasks.desktop.input.direct_press import CLIENT_EVENT, FORMAT, FROM_PAGER
from holo_tasks.desktop.x11.windows import active_window, box
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

NORTH_WEST = 1
PLACE_AND_SIZE = 0b1111 << 8
"""Flags of the message: it has a position, a width and a height."""
REQUEST, FULL_SCREEN = "_NET_MOVERESIZE_WINDOW", "_NET_WM_STATE_FULLSCREEN"


def fit_active_window(link: XConnection, pulse: Pinger) -> bool:
    """Move and shrink the active window so that its whole frame is on the screen; return whether its place has changed.

    A window that is on the screen already is not changed, and neither is one that fills the screen on purpose.
    """
    if link.atom(REQUEST) not in link.numbers(link.root, "_NET_SUPPORTED"):
        return False
    try:
        window = active_window(link)
        frame = link.numbers(window, "_NET_FRAME_EXTENTS") if window else []
        if len(frame) != 4 or link.atom(FULL_SCREEN) in link.numbers(window, "_NET_WM_STATE"):
            return False
        before, size = box(link, window), link.size()
        wanted = inside(before, (frame[0], frame[2], frame[1], frame[3]), Box.whole(size))
        if wanted == before:
            return False
        # The place is that of the frame, the size that of the contents.
        flags = NORTH_WEST | PLACE_AND_SIZE | FROM_PAGER << 12
        place = wanted.left - frame[0], wanted.top - frame[2], wanted.width, wanted.height
        message = CLIENT_MESSAGE.pack(CLIENT_EVENT, FORMAT, window, link.atom(REQUEST), flags, *place)
        link.conn.core.SendEvent(False, link.root, TO_MANAGER, message)
        pulse.await_manager()
        return box(link, window) != before
    except Refused:
        return False


def inside(content: Box, frame: tuple[int, int, int, int], screen: Box) -> Box:
    """Return the box of a window's content, moved and shrunk as little as it takes to have its frame on the screen.

    ``frame`` is the width of the frame at the left, top, right and bottom edge.
    """
    left, top, right, bottom = frame
    width = min(content.width, screen.width - left - right)
    height = min(content.height, screen.height - top - bottom)
    x = max(screen.left + left, min(content.left, screen.right - right - width))
    y = max(screen.top + top, min(content.top, screen.bottom - bottom - height))
    return Box(x, y, width, height)
