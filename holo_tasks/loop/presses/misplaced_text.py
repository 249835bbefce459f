"""Withholds a text that would go to another control than the one of the model's last click, if that changed nothing.

A click next to a field, or on its label, may change nothing. The next text then goes to the control that has the
keyboard. A list selects another of its rows by the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.input.gestures import Click, Gesture, Pause
from holo_tasks.core.input.pressed_elements import FIELDS
from holo_tasks.core.prompts.tool_calls import AnyCall, WriteCall
from holo_tasks.core.prompts.toolbox import Space
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.verdicts import Verdict
from holo_tasks.loop.presses.model_place import model_place
from holo_tasks.loop.services import Services

EDGE = 12
"""Pixels around a reported field that may belong to it. GTK 4 reports fields without their padding."""
BELOW = 40
"""Largest distance of a field below its label, in pixels."""
LISTS = frozenset({"panel", "list", "list box", "table", "tree", "tree table"})
"""Roles of lists that select a row by the letters that are typed. Some toolkits report a list as a panel."""
FAR = 80
"""A text counts as elsewhere if nothing changed up to this distance from the click, in pixels."""


@dataclass
class MisplacedText:
    """Compares the place of the last click with the field that gets the next text. One object serves one sub-goal."""

    _vain: Point | None = None
    """The point of the last action apart from waits, if that was a click that changed nothing."""

    def did(self, gesture: Gesture | None, verdict: Verdict | None) -> None:
        """Note an action and its effect. A wait in which nothing changed says nothing about the click before it."""
        unchanged = verdict is not None and verdict.outcome == "unchanged"
        if isinstance(gesture, Pause) and unchanged:
            return
        self._vain = gesture.at if isinstance(gesture, Click) and unchanged else None

    def forget(self) -> None:
        """Forget the last click, because a person or a sequence has worked on the screen."""
        self._vain = None

    async def withhold(self, services: Services, call: AnyCall, shot: Shot) -> str:
        """Return why a text is withheld, for the model; an empty string if it may be typed."""
        at = self._vain
        if at is None or not isinstance(call, WriteCall) or services.elements is None:
            return ""
        newest = await services.elements.newest()
        if newest is None or _other_field(newest.tree, at) is None:
            return ""
        field = _other_field(newest.tree if newest.is_fresh else await services.elements.read(), at)
        place = None if field is None else model_place(field.box.center, shot, services.model.space)
        if field is None or place is None:
            return ""
        kind = "field" if field.role in FIELDS else "control"
        return (
            f"Nothing was typed: your last click changed nothing, and the keyboard is in another {kind}, at {place}. "
            f"Click into the field that is to get the text. To type into that other {kind}, repeat this call."
        )

    def afterwards(self, call: AnyCall, verdict: Verdict | None, shot: Shot, space: Space) -> str:
        """Return the sentence about a text that showed at another place than the click, with a leading blank.

        Returns an empty string otherwise.
        """
        at, box = self._vain, None if verdict is None else verdict.box
        if at is None or box is None or not isinstance(call, WriteCall):
            return ""
        if box.grown(FAR).contains(at) or _is_beside(box, at):
            return ""
        place = model_place(box.center, shot, space)
        where = "" if place is None else f", around {place}"
        return f" Your last click changed nothing, and the text is at another place{where}: look where it is."


def _other_field(tree: ElementTree, at: Point) -> Element | None:
    """Return the field or list that has the keyboard, unless a click at a point may be meant for it."""
    field = tree.focused()
    if field is None or field.role not in FIELDS | LISTS or not field.on_screen:
        return None
    if field.box.contains(at):
        return None
    if field.role in LISTS:
        return field
    if _is_in_another_field(tree, at, field):
        return field
    return None if field.box.grown(EDGE).contains(at) or _is_beside(field.box, at) else field


def _is_in_another_field(tree: ElementTree, at: Point, field: Element) -> bool:
    """Return whether a point is in another field than this one, its inner parts and the field that it is a part of."""
    inner = tree.at(at)
    own = {field.id, *(each.id for each in (*tree.below(field), *tree.ancestors(field)))}
    there = [] if inner is None else [inner, *tree.ancestors(inner)]
    return any(each.role in FIELDS and each.id not in own for each in there)


def _is_beside(field: Box, at: Point) -> bool:
    """Return whether a point is left of a field or just above it, where its label is."""
    left = field.top <= at.y < field.bottom and at.x < field.left
    return left or (0 <= field.top - at.y <= BELOW and field.left - BELOW <= at.x < field.right)
