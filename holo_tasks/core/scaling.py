"""From the model's coordinates to pixels, through the very picture that was sent."""

from __future__ import annotations

from holo_tasks.core import gestures
from holo_tasks.core.actions import (
    AnyCall,
    ClickCall,
    DoubleClickCall,
    DragAndDropCall,
    HoldAndTapKeyCall,
    HotkeyCall,
    MoveToCall,
    ScrollCall,
    WaitCall,
    WriteAtCall,
    WriteCall,
)
from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.frame import Shot
from holo_tasks.core.geometry import Point

FULL_SCALE = 1000


def to_pixel(x: float, y: float, shot: Shot) -> Point:
    """Map (x, y) in [0, 1000] to a screen pixel.

    The product is truncated, as in the documentation; 1000 is the last pixel, not one past it. Coordinates are
    relative to the part of the screen that was sent, whatever size it was sent in.
    Raises `UnusableReply` for anything out of range: a wrong coordinate is never moved into range.
    """
    for name, value in (("x", x), ("y", y)):
        if not 0 <= value <= FULL_SCALE:
            raise UnusableReply(
                f"the model asked for {name}={value}, which is off the picture",
                correction=f"{name}={value} is off the picture: coordinates are integers from 0 to 1000.",
            )
    area = shot.area
    return Point(
        area.left + min(int(x * area.width / FULL_SCALE), area.width - 1),
        area.top + min(int(y * area.height / FULL_SCALE), area.height - 1),
    )


def to_gesture(call: AnyCall, shot: Shot) -> gestures.Gesture | None:
    """Turn a call into what the hands do, or None if it is nothing for hands (answer, ask)."""
    match call:
        case ClickCall():
            return gestures.Click(to_pixel(call.x, call.y, shot), button=call.button)
        case DoubleClickCall():
            return gestures.Click(to_pixel(call.x, call.y, shot), count=2)
        case MoveToCall():
            return gestures.Move(to_pixel(call.x, call.y, shot))
        case DragAndDropCall():
            return gestures.Drag(to_pixel(call.x1, call.y1, shot), to_pixel(call.x2, call.y2, shot))
        case ScrollCall():
            return gestures.Scroll(to_pixel(call.x, call.y, shot), call.direction, call.scroll_size)
        case WriteCall():
            return gestures.Write(call.content, overwrite=call.overwrite, press_enter=call.press_enter)
        case WriteAtCall():
            return gestures.Write(call.content, at=to_pixel(call.x, call.y, shot))
        case HotkeyCall():
            return gestures.Hotkey(tuple(call.keys), repeat=call.repeat_count)
        case HoldAndTapKeyCall():
            return gestures.HoldAndTap(tuple(call.hold_keys), tuple(call.tap_keys))
        case WaitCall():
            return gestures.Pause(call.seconds)
        case _:
            return None
