"""Compute the marks that show a gesture on a picture, in screen pixels.

`marks` is used by the report, the timeline and hand-offs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from pydantic import JsonValue

from holo_tasks.core.events import ActionIntended, FrameTaken

_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_SCROLL_PIXELS = 110


@dataclass(frozen=True)
class Ring:
    """Mark of a click, or of a pointer movement if ``hover``. ``note`` is empty for a plain left click."""

    x: int
    y: int
    note: str = ""
    hover: bool = False

    def moved(self, right: int, down: int) -> Ring:
        return replace(self, x=self.x + right, y=self.y + down)


@dataclass(frozen=True)
class Arrow:
    """Mark of a drag or a scroll."""

    x1: int
    y1: int
    x2: int
    y2: int

    def moved(self, right: int, down: int) -> Arrow:
        return Arrow(self.x1 + right, self.y1 + down, self.x2 + right, self.y2 + down)


Mark: TypeAlias = Ring | Arrow


def area(frame: FrameTaken | None) -> tuple[int, int, int, int]:
    """Return the part of the screen that a picture shows: left, top, width, height."""
    if frame is None:
        return 0, 0, 1280, 800
    if len(frame.region) == 4:
        left, top, width, height = frame.region
        return left, top, max(1, width), max(1, height)
    return 0, 0, frame.screen_width, frame.screen_height


def marks(action: ActionIntended | None) -> list[Mark]:
    """Return the marks of an action. An unknown gesture has none."""
    if action is None:
        return []
    gesture = action.gesture
    kind = action.gesture_kind.lower().replace("_", "")
    drawn: list[Mark] = []
    if kind in ("click", "doubleclick") and (at := _point(gesture.get("at"))):
        drawn.append(Ring(*at, note=_click_note(gesture)))
    elif kind == "move" and (to := _point(gesture.get("to"))):
        drawn.append(Ring(*to, note="hover", hover=True))
    elif kind == "drag" and (start := _point(gesture.get("start"))) and (end := _point(gesture.get("end"))):
        drawn += [Ring(*start), Arrow(*start, *end)]
    elif kind == "scroll" and (at := _point(gesture.get("at"))):
        right, down = _DIRECTIONS.get(str(gesture.get("direction")), (0, 0))
        drawn.append(Ring(*at, note=f"scroll {gesture.get('notches')}", hover=True))
        drawn.append(Arrow(*at, at[0] + right * _SCROLL_PIXELS, at[1] + down * _SCROLL_PIXELS))
    elif kind == "write" and (at := _point(gesture.get("at"))):
        drawn.append(Ring(*at))
    return drawn


def caption(action: ActionIntended | None) -> str:
    """Return the text or the keys of a gesture without a position: typing, key combinations."""
    if action is None:
        return ""
    gesture = action.gesture
    kind = action.gesture_kind.lower().replace("_", "")
    if kind == "write":
        return f"{gesture.get('text', '')}{' ⏎' if gesture.get('press_enter') else ''}"
    if kind == "hotkey":
        repeat = gesture.get("repeat")
        return "+".join(_names(gesture.get("keys"))) + (f" ×{repeat}" if repeat not in (None, 1) else "")
    if kind == "holdandtap":
        return f"{'+'.join(_names(gesture.get('hold')))} + {' '.join(_names(gesture.get('tap')))}"
    return ""


def _click_note(gesture: Mapping[str, JsonValue]) -> str:
    button, count = gesture.get("button", "left"), gesture.get("count", 1)
    return " ".join([*([str(button)] if button != "left" else []), *([f"×{count}"] if count != 1 else [])])


def _point(value: JsonValue) -> tuple[int, int] | None:
    pair = (value.get("x"), value.get("y")) if isinstance(value, dict) else value
    if isinstance(pair, (list, tuple)) and len(pair) == 2:
        x, y = pair
        if isinstance(x, int) and isinstance(y, int):
            return x, y
    return None


def _names(value: JsonValue) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []
