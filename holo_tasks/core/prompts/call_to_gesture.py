"""Convert a model's coordinates to pixels of the screen, relative to the picture that was sent."""

from __future__ import annotations

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.input import gestures
from holo_tasks.core.prompts.tool_calls import (
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
from holo_tasks.core.screen.calibration import Correction
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Point

FULL_SCALE = 1000
ROUNDING = 0.5
"""Coordinates are whole thousandths. A corrected value up to this far past the edge counts as the edge."""


def to_pixel(x: float, y: float, shot: Shot) -> Point:
    """Map (x, y) in [0, 1000] to a screen pixel.

    The product is truncated, as the model's documentation says, and 1000 is the last pixel. Coordinates are relative to
    the part of the screen that was sent, whatever its sent size. Raises `UnusableReply` for coordinates out of range,
    which are never moved into range.
    """
    for name, value in (("x", x), ("y", y)):
        if not 0 <= value <= FULL_SCALE:
            raise UnusableReply(
                f"the model asked for {name}={value}, which is off the picture",
                correction=f"{name}={value} is off the picture: coordinates are integers from 0 to 1000.",
            )
    if shot.correction is not None:
        x, y = _correct_for_model(x, y, shot.correction)
    area = shot.area
    return Point(
        area.left + min(int(x * area.width / FULL_SCALE), area.width - 1),
        area.top + min(int(y * area.height / FULL_SCALE), area.height - 1),
    )


def to_thousandths(at: Point, shot: Shot) -> tuple[int, int] | None:
    """Map a screen pixel to the coordinates that a model has to give to press it: the inverse of `to_pixel`.

    Returns ``None`` if the pixel is not on the picture that was sent.
    """
    area = shot.area
    if not area.contains(at):
        return None
    x, y = ((at.x - area.left + 0.5) * FULL_SCALE / area.width, (at.y - area.top + 0.5) * FULL_SCALE / area.height)
    if shot.correction is not None:
        x, y = shot.correction.x.before_correction(x), shot.correction.y.before_correction(y)
    return (round(min(max(x, 0.0), FULL_SCALE)), round(min(max(y, 0.0), FULL_SCALE)))


def _correct_for_model(x: float, y: float, correction: Correction) -> tuple[float, float]:
    """Return coordinates corrected for the model's known error. Raises `UnusableReply` if they are off the picture."""
    meant = correction.x.corrected(x), correction.y.corrected(y)
    for name, value in zip(("x", "y"), meant, strict=True):
        if not -ROUNDING <= value <= FULL_SCALE + ROUNDING:
            raise UnusableReply(
                f"the model asked for ({x:g}, {y:g}), which is off the picture after the correction by its calibration",
                correction=f"{name} is off the picture after the correction of your measured error: look again.",
            )
    return tuple(min(max(value, 0.0), float(FULL_SCALE)) for value in meant)  # type: ignore[return-value]


def to_gesture(call: AnyCall, shot: Shot) -> gestures.Gesture | None:
    """Convert a call to a gesture, or ``None`` for calls without input (answer, ask)."""
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
