"""Check while a secret is typed that its characters show in its field, so that at most a few go elsewhere.

Only the program knows which control of its window has the keyboard focus. A click on a field that takes no input
leaves the focus where it was, and a program may move the focus at any time. Both show in the pixels that change.

`SecretTypingCheck` is the main class; the hands use it for secrets that are bound to fields.
"""

from __future__ import annotations

import time

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.recheck import CARET_TALL, CARET_WIDE
from holo_tasks.desktop.fields.changed_field import LATE_NS, Fields, Pixels, changes

AROUND = 8
"""Pixels around a field that may change with it: its outline is repainted together with the field."""


class SecretTypingCheck:
    """The comparison of the screen before and after each piece of one secret, whose name is ``name``."""

    def __init__(self, fields: Fields, field: Box, name: str) -> None:
        self._fields = fields
        self._field = field
        self._near = field.grown(AROUND)
        self._name = name
        self._before = fields.marked
        self._first = True

    def check(self, began_ns: int, last_event_ns: int) -> bool:
        """Return whether the keys since ``began_ns`` changed the field and nothing outside.

        Raises `SecretRefused` if the field does not change for ``LATE_NS``.
        """
        until = time.monotonic_ns() + LATE_NS
        while True:
            after, settled = self._fields.look(last_event_ns)
            inside, outside = self._compared(after)
            late = (last_event_ns := time.monotonic_ns()) >= until
            if self._shows_in_field(inside, outside, began_ns, settled=settled, late=late):
                self._before, self._first = after, False
                return not outside
            if late:
                what = "its first character does" if self._first else "some of it did"
                raise SecretRefused(
                    f"The secret {self._name!r} may be typed only into its own field, and {what} not show there. "
                    "That field takes no input, or another control has the keyboard. Find where the text went, and "
                    "remove it there. Typing was stopped."
                )

    def _shows_in_field(
        self, inside: list[Box], beside: list[Box], began_ns: int, *, settled: bool, late: bool
    ) -> bool:
        if not all(map(_is_caret, inside)):
            return True
        astray = not all(map(_is_caret, beside))
        if self._first:
            # The first character may be as slim as a caret, and a caret shows where the keyboard focus is.
            return late and bool(inside) and not astray
        # A field that is full of dots looks the same after one more character.
        return (settled and not astray) or any(self._near.encloses(box) for box in self._fields.drawn(began_ns))

    def _compared(self, after: Pixels) -> tuple[list[Box], list[Box]]:
        """Return the boxes that changed in the field, and those that changed elsewhere."""
        before, near = self._before, self._near
        whole = Box(0, 0, *after.size)
        if before is None or before.size != after.size:
            return [], [whole]
        rest = after.copy()
        rest.paste(before.crop((near.left, near.top, near.right, near.bottom)), (near.left, near.top))
        windows = {window or whole for window in self._fields.windows()}
        outside = [change for window in windows for change in changes(before, rest, window.cut_to(whole))]
        return changes(before, after, self._field), outside


def _is_caret(change: Box) -> bool:
    return change.width <= CARET_WIDE and change.height <= CARET_TALL
