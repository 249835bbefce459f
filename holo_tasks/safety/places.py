"""Where on the screen a gesture goes, and parts of the screen as rules name them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.gestures import Click, Drag, Gesture, Move, Scroll, Write


def _box(value: Any) -> Any:
    """Read ``[left, top, width, height]`` as well as the four by name."""
    if isinstance(value, list | tuple) and len(value) == 4:
        return dict(zip(("left", "top", "width", "height"), value, strict=True))
    return value


def _on_screen(box: Box) -> Box:
    if box.left < 0 or box.top < 0 or box.width < 1 or box.height < 1:
        raise ValueError(f"{box} is no part of a screen")
    return box


Area = Annotated[Box, BeforeValidator(_box), AfterValidator(_on_screen)]


def points_of(gesture: Gesture) -> tuple[Point, ...]:
    """Return the pixels a gesture is aimed at; none for keys."""
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


def way_of(gesture: Gesture) -> list[Point]:
    """Return every pixel that the pointer may visit, those on the way of a drag included."""
    points = points_of(gesture)
    if len(points) < 2:
        return list(points)
    start, end = points
    across, down = end.x - start.x, end.y - start.y
    steps = max(abs(across), abs(down), 1)
    return [Point(start.x + round(across * n / steps), start.y + round(down * n / steps)) for n in range(steps + 1)]
