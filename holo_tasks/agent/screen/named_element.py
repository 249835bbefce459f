"""Find an element by role and name without a model: in the accessibility tree, else by OCR, confirmed by the pixels."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal, TypeAlias

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.elements.plain_targets import PlainTarget, plain_target
from holo_tasks.core.input.pressed_elements import BUTTONS
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.loop.walk import Walk
from holo_tasks.vision.control_text import ScreenText, can_read

By: TypeAlias = Literal["accessibility", "text", "model"]
WITH_LABELS = frozenset({"text field", "password field", "spin button", "combo box"})
"""Roles whose name is on a label next to the element."""


@dataclass(frozen=True)
class Named:
    """The place of a named element and its source. ``at`` is ``None`` if the model is needed; ``why`` says why."""

    at: Point | None = None
    by: By = "model"
    why: str = ""


async def named_element(walk: Walk, description: str) -> Named:
    """Return the place of the element that a description names by role and name.

    The model is needed if the description has no role and name, if not exactly one element fits, or if the program and
    the picture disagree. Only the redacted frame and elements are used, because the result leaves this machine.
    """
    target, seen = plain_target(description), walk.seen
    if target is None or seen is None or not can_read():
        return Named()
    frame, shown = seen.redacted, seen.shot.area
    elements, reason = walk.services.elements, "The elements of the programs were not read."
    if elements is not None:
        tree = await elements.redacted_tree(seen.masks)
        found = {each.id: each for role in target.roles for each in tree.find(role, target.name, shown)}
        if len(found) > 1:
            return Named(why=f"{len(found)} elements have this name.")
        if len(found) == 1 and tree.complete:
            (element,) = found.values()
            if why := await _disagrees(frame, tree, element, target.name):
                return Named(why=f"A program reports it at {element.box}, but {why}.")
            return Named(element.box.center, "accessibility")
        reason = "No program reports it with certainty."
    at = await asyncio.to_thread(_read, frame, target, shown) if BUTTONS & set(target.roles) else None
    if at is None:
        return Named(why=f"{reason} OCR did not find it at exactly one place either.")
    reader = ScreenText()
    if _is_name(target.name, await reader.on_target(frame, at)) and await reader.field_at(frame, at) is None:
        return Named(at, "text")
    return Named(why=f"{reason} The text that OCR found may not be a button.")


async def _disagrees(frame: Frame, tree: ElementTree, element: Element, name: str) -> str:
    """Return why the picture does not show the element in its box: no name on it, or no label. Empty if it does."""
    from holo_tasks.vision.element_check import ElementCheck
    from holo_tasks.vision.name_fit import agrees

    check = ElementCheck()
    if why := await asyncio.to_thread(check.contradiction, frame, tree, element):
        return why
    if element.role in WITH_LABELS:
        field = await ScreenText().labelled(frame, element.box.center, (name,))
        return "" if field is not None and field.intersects(element.box) else "its label is not next to it"
    same = agrees(name, await asyncio.to_thread(check.read, frame, element.box, room=True))
    return "" if same else "its name was not read there"


def _read(frame: Frame, target: PlainTarget, shown: Box) -> Point | None:
    """Return the center of the one text line with this name. ``None`` if no line or several lines fit."""
    from PIL import Image

    from holo_tasks.vision.ocr_reader import shared_reader

    picture = Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)
    lines = [line for line in shared_reader().read(picture).sight.lines if _is_name(target.name, line.text)]
    return lines[0].box.center if len(lines) == 1 and shown.contains(lines[0].box.center) else None


def _is_name(name: str, read: str) -> bool:
    from holo_tasks.vision.name_fit import agrees

    return agrees(name, read)
