"""Withholds a press whose description clearly names another control than the one at its point.

The model's words and its point are two answers to one question. If they contradict each other, nothing is pressed, and
the model gets both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.elements.known_elements import redacted_tree
from holo_tasks.core.elements.named_target import (
    Control,
    Mismatch,
    ReadsSpots,
    Spot,
    controls_in,
    ends_of_drag,
    find_mismatch,
    spot_in,
)
from holo_tasks.core.elements.target_words import lacks_a_word, mentions_field, share_a_word
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.prompts.tool_calls import AnyCall, ClickCall, DoubleClickCall, DragAndDropCall, WriteAtCall
from holo_tasks.core.prompts.toolbox import Space
from holo_tasks.core.screen.frame import Frame, Shot
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.outside_text import named
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.element_tree import Elements, NewestTree
from holo_tasks.loop.presses.model_place import model_place
from holo_tasks.loop.services import Services

MOST_TOLD = 60
"""Maximal number of characters of a name in a message."""
FLAT, FLAT_BESIDE = 4, 1
"""Bare ground has one color up to this distance from the point, in pixels. Near a named control less is required."""
INSIST = "To act at that point all the same, repeat this call."


@dataclass(frozen=True)
class _PressPoint:
    """A point of a press, with the words for it. ``whole`` has the words for both ends of a drag."""

    words: str
    at: Point
    whole: str = ""

    def mismatch(self, spot: Spot, controls: Iterable[Control]) -> Mismatch | None:
        return find_mismatch(self.words, self.at, spot, controls, self.whole)


@dataclass
class NamedClicks:
    """Compares the words of each press with the control at its point. One object serves one sub-goal."""

    newest: NewestTree | None = None
    """The tree that the last call was compared with, if it was available in time."""

    async def contradiction(self, services: Services, call: AnyCall, seen: NewestScreen) -> str:
        """Return the reason for withholding a call, in sentences for the model.

        Returns an empty string without a contradiction.
        """
        ends = _ends(call, seen.shot)
        self.newest = await services.elements.newest() if ends and services.elements is not None else None
        found = [await _mismatch(services, end, seen, self.newest) for end in ends]
        reported = [_sentence(mismatch, seen.shot, services.model.space) for mismatch in found if mismatch is not None]
        if not any(reported):
            return ""
        return " ".join([*filter(None, reported), "Nothing was pressed.", INSIST])


def _ends(call: AnyCall, shot: Shot) -> list[_PressPoint]:
    """Return the points that a call presses, each with the words for it."""
    match call:
        case ClickCall() | DoubleClickCall() | WriteAtCall():
            return [_PressPoint(call.element, to_pixel(call.x, call.y, shot))]
        case DragAndDropCall(element=whole):
            start, end = ends_of_drag(whole)
            places = to_pixel(call.x1, call.y1, shot), to_pixel(call.x2, call.y2, shot)
            return [_PressPoint(start, places[0], whole), _PressPoint(end, places[1], whole)]
        case _:
            return []


async def _mismatch(
    services: Services, end: _PressPoint, seen: NewestScreen, newest: NewestTree | None
) -> Mismatch | None:
    """Return the contradiction at one point: by the tree if it has an element there, otherwise by the text there."""
    spot = None if newest is None else spot_in(newest.tree, end.at)
    if newest is None or spot is None or newest.tree.is_late(newest.tree.elements[spot.id].pid):
        return None if services.spots is None else await _by_text(services.spots, end, seen)
    if end.mismatch(spot, controls_in(newest.tree)) is None:
        return None
    # From here on it may take a little longer: there is a reason to doubt the press.
    assert services.elements is not None
    tree = newest.tree if newest.is_fresh else await services.elements.read()
    mismatch = None if tree.moving else _by_tree(services.elements, tree, end, seen)
    if mismatch is None or await _is_unsure(services, tree, mismatch, end, seen):
        return None
    return mismatch


def _by_tree(elements: Elements, tree: ElementTree, end: _PressPoint, seen: NewestScreen) -> Mismatch | None:
    """Return the contradiction in a tree if the redacted tree shows the same one."""
    found = []
    for each in (tree, redacted_tree(tree, seen.masks, elements.text_filter, unseen=elements.unseen)):
        spot = spot_in(each, end.at)
        found.append(None if spot is None else end.mismatch(spot, controls_in(each)))
    by_all, outside = found
    if by_all is None or outside is None:
        return None
    same = (by_all.named, by_all.spot.name) == (outside.named, outside.spot.name)
    return outside if same else None


async def _is_unsure(
    services: Services, tree: ElementTree, mismatch: Mismatch, end: _PressPoint, seen: NewestScreen
) -> bool:
    """Say whether the pixels or the X server contradict the tree: then the press may be right."""
    if mismatch.spot.is_bare and services.spots is None:
        return True  # GTK 4 reports buttons without their padding, so only the pixels show where a button ends
    if mismatch.spot.is_bare and not _is_flat(seen.frame, end.at, FLAT_BESIDE if mismatch.off else FLAT):
        return True
    owner = await services.desktop.owner_at(end.at)
    if owner.pid and owner.pid != tree.elements[mismatch.spot.id].pid:
        return True
    read = None if services.spots is None else await services.spots.spot(seen.redacted, end.at)
    if read is None or not share_a_word(end.whole or end.words, read[0].texts):
        return False
    return end.mismatch(replace(read[0], role=mismatch.spot.role), [mismatch.named]) is None


async def _by_text(reader: ReadsSpots, end: _PressPoint, seen: NewestScreen) -> Mismatch | None:
    """Return the contradiction between the words and the text on the picture."""
    read = await reader.spot(seen.redacted, end.at)
    if read is None:
        return None
    spot, beside = read
    shares = share_a_word(end.whole or end.words, spot.texts)
    if spot.is_bare or (shares and not lacks_a_word(end.words, spot.name)):
        return end.mismatch(spot, beside)
    mismatch = end.mismatch(spot, await reader.controls(seen.redacted))
    if mismatch is None and spot.is_captioned and mentions_field(end.words):
        return end.mismatch(spot, await reader.fields(seen.redacted, end.at))
    return mismatch


def _is_flat(frame: Frame, at: Point, around: int) -> bool:
    """Say whether all pixels up to a distance from a point have the same color."""
    part = Box.near(at, around, around).clipped(frame.size)
    if part is None:
        return False
    starts = [3 * (row * frame.size.width + part.left) for row in range(part.top, part.bottom)]
    pixels = b"".join(frame.rgb[start : start + 3 * part.width] for start in starts)
    return pixels == pixels[:3] * (len(pixels) // 3)


def _sentence(mismatch: Mismatch, shot: Shot, space: Space) -> str:
    """Return the message for the model. Returns an empty string if the named control is not on the sent picture."""
    where = model_place(mismatch.named.box.center, shot, space)
    if where is None:
        return ""
    name = f"‘{named(mismatch.named.name, MOST_TOLD)}’"
    if mismatch.off:
        return f"The point is on no control, {mismatch.off} {name}, which is at {where}."
    spot = named(mismatch.spot.name, MOST_TOLD)
    point = f"the point is on ‘{spot}’" if spot else "the point is on no control"
    nearest = f"The nearest of {mismatch.others + 1} controls named {name}" if mismatch.others else name
    return f"You named {name}; {point}. {nearest} is at {where}."
