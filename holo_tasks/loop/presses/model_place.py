"""Tells a place on the screen in the coordinates that the model uses."""

from __future__ import annotations

from holo_tasks.core.prompts.call_to_gesture import FULL_SCALE, to_thousandths
from holo_tasks.core.prompts.toolbox import Space
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Point


def model_place(at: Point, shot: Shot, space: Space) -> str | None:
    """Return a point in the model's coordinates, for a sentence; ``None`` if it is not on the sent picture."""
    place = to_thousandths(at, shot)
    if place is None:
        return None
    return str(place if space == "thousandths" else tuple(coordinate / FULL_SCALE for coordinate in place))
