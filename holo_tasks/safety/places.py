"""Pixels that a gesture targets, and the type of screen regions in rules."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from holo_tasks.core.input.gestures import Click, Drag, Gesture, Move, Scroll, Write
from holo_tasks.core.screen.geometry import Box, Point


def _box_from_list(value: Any) -> Any:
    """Convert ``[left, top, width, height]`` to a mapping; leave other values unchanged."""
    if isinstance(value, list | tuple) and len(value) == 4:
        return dict(zip(("left", "top", "width", "height"), value, strict=True))
    return value


def _on_screen(box: Box) -> Box:
    if box.left < 0 or box.top < 0 or box.width < 1 or box.height < 1:
        raise ValueError(f"{box} is not a part of a screen")
    return box


Area = Annotated[Box, BeforeValidator(_box_from_list), AfterValidator(_on_screen)]


def points_of(gesture: Gesture) -> tuple[Point, ...]:
    """Return the pixels that a gesture targets. Keys have no target."""
    match gesture:
        case Click(at) | Scroll(at):
            return (at,)
        case Move(to):
            return (to,)
        case Drag(start, end):
            return (start, end)
        case Write(at=Point() as at):
            return (at,)
        case _:
            return ()


def path_of(gesture: Gesture) -> list[Point]:
    """Return all pixels that the pointer may visit, including the straight line of a drag."""
    points = points_of(gesture)
    if len(points) < 2:
        return list(points)
    start, end = points
    across, down = end.x - start.x, end.y - start.y
    steps = max(abs(across), abs(down), 1)
    return [Point(start.x + round(across * n / steps), start.y + round(down * n / steps)) for n in range(steps + 1)]
