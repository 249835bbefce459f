"""Find the label of an input field: the text directly left or above, outside all fields.

Text inside a field never counts as a label. Otherwise a person or program that writes into one field could relabel
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.screen_text import Line

FURTHEST = 400
"""Largest distance between the label's right end and the field, in pixels."""
SLACK = 4
"""Pixels by which the box of a text may overlap its neighbor."""
LONG = 1.5
"""Ratio of width to height from which an area may be a field. An icon is less wide."""


def labels_of(field: Box, areas: Sequence[Box], fields: Sequence[Box], lines: Sequence[Line]) -> list[str]:
    """Return the labels of a field: the one on its left, the one above it, or both.

    ``areas`` are all controls of the picture, ``fields`` the certain fields, and ``lines`` its texts. Forms use either
    side for labels, and the other side may hold unrelated text. If another possible field lies between, the label
    belongs to that field.
    """
    form = _Form(
        tuple(area for area in areas if not _overlap(area, field)),
        tuple(other for other in fields if not _overlap(other, field)),
        lines,
    )
    return [line.text for line in form.labels(field)]


@dataclass(frozen=True)
class _Form:
    """The surroundings of a field: ``areas`` are all controls, ``fields`` those that are certainly fields."""

    areas: tuple[Box, ...]
    fields: tuple[Box, ...]
    lines: Sequence[Line]

    def labels(self, field: Box) -> Iterator[Line]:
        free = [line for line in self.lines if not any(_has_middle(area, line.box) for area in self.areas)]
        left = max((one for one in free if _is_left_of(one.box, field)), key=lambda one: one.box.right, default=None)
        above = max((one for one in free if _is_above(one.box, field)), key=lambda one: one.box.bottom, default=None)
        if above is not None and self._is_gap(_gap_down(above.box, field)):
            above = None
        if left is not None and self._is_gap(_gap_across(left.box, field)):
            left = None
        if left is not None and not (above is not None and self._has_nearer_below(left.box, field)):
            yield left
        if above is not None and not self._is_left_label_of_another(above.box, field, free):
            yield above

    def _is_gap(self, gap: Box) -> bool:
        return any(area.width >= LONG * area.height and _overlap(area, gap) for area in self.areas)

    def _has_nearer_below(self, label: Box, field: Box) -> bool:
        """Return whether another field is directly below a label, and nearer than this field on its right."""
        return any(
            _is_above(label, other) and other.top - label.bottom < field.left - label.right for other in self.fields
        )

    def _is_left_label_of_another(self, label: Box, field: Box, free: Sequence[Line]) -> bool:
        """Return whether the label above this field is the left label of another field."""
        return any(
            _is_left_of(label, other)
            and other.left < field.right
            and not any(_is_left_of(line.box, other) and line.box.left >= label.right - SLACK for line in free)
            for other in self.fields
        )


def _is_left_of(label: Box, field: Box) -> bool:
    return field.top <= label.center.y < field.bottom and -SLACK <= field.left - label.right <= FURTHEST


def _is_above(label: Box, field: Box) -> bool:
    across = label.left < field.right and field.left < label.right
    return across and -SLACK <= field.top - label.bottom <= 2 * label.height


def _gap_across(label: Box, field: Box) -> Box:
    return Box(label.right, field.top, max(1, field.left - label.right), field.height)


def _gap_down(label: Box, field: Box) -> Box:
    return Box(field.left, label.bottom, field.width, max(1, field.top - label.bottom))


def _has_middle(area: Box, inner: Box) -> bool:
    at = inner.center
    return area.left <= at.x < area.right and area.top <= at.y < area.bottom


def _overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes overlap by more than the width of an outline."""
    shared = one.intersection(other)
    return shared is not None and min(shared.width, shared.height) > 2
