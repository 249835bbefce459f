"""Finds out, without a tree, whether the keys move a caret in a text or a selection in a table.

Shift and an arrow key select one character in a text, and one more cell in a table. The opposite arrow takes that
back. So this tells the two apart before a key is pressed that moves far or deletes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from holo_tasks.core import keynames
from holo_tasks.core.geometry import Box
from holo_tasks.core.recheck import CARET_TALL
from holo_tasks.desktop.fields import Fields, Pixels, changes
from holo_tasks.desktop.interrupt import Interrupt
from holo_tasks.desktop.typist import Typist

Found = Literal["text", "table", "nothing"]
"""``nothing`` stands for an empty field, and for a control in which arrows select nothing."""
Step = Literal["text", "table", "nothing", "blank"]
"""``blank`` is the end of a line, which some toolkits draw as wide as the field, or an empty cell."""

CARET = 3
"""A change that is no wider, in pixels, may be the caret."""
CHARACTER = 28
"""A selected character is at most so wide, in pixels; a cell is wider."""
DRAWN_S, FAR_DRAWN_S, NAP_S = 0.08, 1.0, 0.02
"""How long the program may take to draw a selection, once it has read the keys."""
MOST = 3
"""After so many ends of lines, or empty cells, it counts as a table."""
BLANK = 0.97
"""So much of a blank area has one color: the caret may stand in it."""

Press = Callable[..., None]


class CaretProbe:
    """Presses Shift and an arrow, compares the screen, and presses the opposite arrow."""

    def __init__(
        self,
        fields: Fields,
        typist: Typist,
        press: Press,
        interrupt: Interrupt,
        repeats: Callable[[], Sequence[Box]],
    ) -> None:
        """``repeats`` returns the places that are repainted at a pace of their own, whatever the keys are."""
        self._fields = fields
        self._typist = typist
        self._press = press
        self._interrupt = interrupt
        self._repeats = repeats

    def around_caret(self, *, far: bool) -> Found:
        """Return what the arrows move in, by what lies before the caret or, at the start of a text, after it."""
        first, last = keynames.LEFT, keynames.RIGHT
        found = self.beside_caret(first, last, far=far)
        return found if found != "nothing" else self.beside_caret(last, first, far=far)

    def beside_caret(self, arrow: int, opposite: int, *, far: bool) -> Found:
        """Return what one arrow moves in; afterwards the selection is as before."""
        passed = 0
        try:
            while (found := self._select_one(arrow, opposite, far=far)) == "blank":
                if passed == MOST:
                    return "table"
                self._press(keynames.SHIFT, arrow)
                passed += 1
            return found
        finally:
            for _ in range(passed):
                self._press(keynames.SHIFT, opposite)

    def _select_one(self, arrow: int, opposite: int, *, far: bool) -> Step:
        """Select one more character or cell, and take that back."""
        before = self._drawn()
        self._press(keynames.SHIFT, arrow)
        changed = self._changed(before, far=far)
        if not changed:
            return "nothing"
        self._press(keynames.SHIFT, opposite)
        # Where the screen does not go back to what it was, something else has drawn, such as a spinner.
        after = self._restored(before, changed)
        changed = [box for box in changed if not self._beyond_caret(before, after, box)]
        if not changed:
            return "nothing"
        wide = [box for box in changed if box.width > CHARACTER]
        if not wide:
            return "text"
        return "blank" if len(wide) == 1 and _is_blank(before, wide[0]) else "table"

    def _changed(self, before: Pixels, *, far: bool) -> list[Box]:
        """Return what is drawn differently since, once the program has read its keys and drawn."""
        after, until = self._drawn(), time.monotonic() + (FAR_DRAWN_S if far else DRAWN_S)
        last: list[Box] = []
        while True:
            found = self._beyond_caret(before, after)
            if (found and found == last) or time.monotonic() >= until:
                return found
            last = found
            self._interrupt.sleep(NAP_S)
            after = self._fields.picture()

    def _drawn(self) -> Pixels:
        """Return the screen once the program has read its keys and drawn, as far as it answers pings."""
        self._typist.await_read()
        self._typist.await_read()  # toolkits draw when they have nothing else to do, so before the second answer
        return self._fields.picture()

    def _restored(self, before: Pixels, boxes: Sequence[Box]) -> Pixels:
        """Return the screen once these boxes look as before, or after a while."""
        after, until = self._drawn(), time.monotonic() + DRAWN_S
        while any(self._beyond_caret(before, after, box) for box in boxes) and time.monotonic() < until:
            self._interrupt.sleep(NAP_S)
            after = self._fields.picture()
        return after

    def _beyond_caret(self, before: Pixels, after: Pixels, inside: Box | None = None) -> list[Box]:
        whole = Box(0, 0, *after.size)
        if before.size != after.size:
            return [whole]
        within = inside or (self._fields.windows()[-1] or whole).cut_to(whole)
        known = self._repeats()
        found = changes(before, after, within)
        found = [box for box in found if box.width > CARET or box.height > CARET_TALL]
        return [box for box in found if not any(place.encloses(box) for place in known)]


def _is_blank(picture: Pixels, box: Box) -> bool:
    area = picture.crop((box.left, box.top, box.right, box.bottom))
    counted = area.getcolors(box.area) or [(0, 0)]
    return max(count for count, *_ in counted) >= BLANK * box.area
