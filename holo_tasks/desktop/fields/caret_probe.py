"""Finds out, without an accessibility tree, whether the keys move a caret in a text or a selection in a table.

Shift and an arrow key select one character in a text, and one more cell in a table. The opposite arrow undoes that. So
the probe tells the two apart before any key is pressed that moves far or deletes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from PIL import Image, ImageChops

from holo_tasks.core.input import keynames
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.recheck import CARET_TALL
from holo_tasks.desktop.fields.changed_field import Fields, Pixels, changes
from holo_tasks.desktop.input.typing import Typist
from holo_tasks.desktop.stop.interrupt import Interrupt

Found = Literal["text", "table", "nothing"]
"""``nothing`` means an empty field, or a control in which arrows select nothing."""
Step = Literal["text", "table", "nothing", "blank"]
"""``blank`` is the end of a line, which some toolkits draw as wide as the field, or an empty cell."""

CARET = 3
"""The widest caret, in pixels."""
CHARACTER = 28
"""The widest selected character, in pixels; a cell is wider."""
LEAST_CHANGE = 4
"""The smallest change of a color value that counts. Browsers draw the rounded edges near a selection anew, and their
colors then differ by one.
"""
DRAWN_S, SLOW_DRAWN_S, UNASKED_S, NAP_S = 0.06, 1.0, 0.1, 0.01
"""Seconds that a program may take to draw a selection after it has read the keys.

``SLOW_DRAWN_S`` applies to another machine's screen, and where a selection is expected. A program that answers no pings
gets ``UNASKED_S`` to read the keys.
"""
PINGS, SLOWER = 3, 4
"""Toolkits draw when they have nothing else to do: before the next answer or, on a busy machine, a few answers
later.
"""
MOST = 3
"""Ends of lines, or empty cells, after which the control counts as a table."""

Press = Callable[..., None]


class CaretProbe:
    """Presses Shift and an arrow, compares the screen, and presses the opposite arrow."""

    def __init__(
        self,
        fields: Fields,
        typist: Typist,
        press: Press,
        interrupt: Interrupt,
    ) -> None:
        self._fields = fields
        self._typist = typist
        self._press = press
        self._interrupt = interrupt

    def around_caret(self, *, far: bool, inside: Sequence[Box] = ()) -> Found:
        """Tell a text from a table by the character or cell before the caret or, at its start, after the caret.

        ``far`` says that the window shows another machine's screen, which draws late. If something changes ``inside``
        these areas, only that counts: a program may also enable its buttons *Cut* and *Copy*.
        """
        drawn_s = SLOW_DRAWN_S if far else DRAWN_S
        found = self._probe_arrow(keynames.LEFT, keynames.RIGHT, drawn_s, inside)
        return found if found != "nothing" else self._probe_arrow(keynames.RIGHT, keynames.LEFT, drawn_s, inside)

    def after_start(self, inside: Sequence[Box] = ()) -> Found:
        """Tell a text from a table at the start of a text that is not empty, first ``inside`` some areas."""
        return self._probe_arrow(keynames.RIGHT, keynames.LEFT, SLOW_DRAWN_S, inside)

    def _probe_arrow(self, arrow: int, opposite: int, drawn_s: float, inside: Sequence[Box]) -> Found:
        """Tell a text from a table by one arrow. Afterwards the selection is as before."""
        passed = 0
        try:
            while (found := self._select_one(arrow, opposite, drawn_s, inside)) == "blank":
                if passed == MOST:
                    return "table"
                self._press(keynames.SHIFT, arrow)
                passed += 1
            return found
        finally:
            for _ in range(passed):
                self._press(keynames.SHIFT, opposite)

    def _select_one(self, arrow: int, opposite: int, drawn_s: float, inside: Sequence[Box]) -> Step:
        """Select one more character or cell, and undo that."""
        before = self.picture()
        self._press(keynames.SHIFT, arrow)
        changed = self.changed(before, drawn_s)
        if not changed:
            return "nothing"
        self._press(keynames.SHIFT, opposite)
        # An area that does not return to its first picture was drawn by something else, such as a spinner.
        after = self._restored(before, changed)
        changed = [box for box in changed if not self._beyond_caret(before, after, box)]
        changed = [box for box in changed if any(box.intersects(area) for area in inside)] or changed
        if not changed:
            return "nothing"
        wide = [box for box in changed if box.width > CHARACTER]
        if not wide:
            return "text"
        return "blank" if len(wide) == 1 and _is_blank(before, wide[0]) else "table"

    def picture(self) -> Pixels:
        """Return the screen once the program has read its keys."""
        return self._drawn()[0]

    def changed(self, before: Pixels, drawn_s: float = DRAWN_S) -> list[Box]:
        """Return the boxes that were redrawn, once the program has read its keys and drawn."""
        (after, until), last = self._drawn(drawn_s), list[Box]()
        while True:
            found = self._beyond_caret(before, after)
            if (found and found == last) or time.monotonic() >= until:
                return found
            last = found
            self._interrupt.sleep(NAP_S)
            after = self._fields.picture()

    def _drawn(self, drawn_s: float = 0.0) -> tuple[Pixels, float]:
        """Return the screen once the program has read its keys, and the time until when it may still draw.

        A program that answers pings late is busy, and draws late too.
        """
        began = time.monotonic()
        for _ in range(PINGS):
            if not self._typist.await_read():
                self._interrupt.sleep(UNASKED_S)
                break
        took_s = time.monotonic() - began
        return self._fields.picture(), began + max(drawn_s, SLOWER * took_s)

    def _restored(self, before: Pixels, boxes: Sequence[Box]) -> Pixels:
        """Return the screen once these boxes look as before, or once the program had time to draw them."""
        after, until = self._drawn(DRAWN_S)
        while any(self._beyond_caret(before, after, box) for box in boxes) and time.monotonic() < until:
            self._interrupt.sleep(NAP_S)
            after = self._fields.picture()
        return after

    def _beyond_caret(self, before: Pixels, after: Pixels, inside: Box | None = None) -> list[Box]:
        whole = Box(0, 0, *after.size)
        if before.size != after.size:
            return [whole]
        within = inside or (self._fields.windows()[-1] or whole).cut_to(whole)
        changed = changes(before, after, within, LEAST_CHANGE)
        return [box for box in changed if box.width > CARET or box.height > CARET_TALL]


def _is_blank(picture: Pixels, box: Box) -> bool:
    """Return whether an area has one color, apart from a caret."""
    area = picture.crop((box.left, box.top, box.right, box.bottom))
    paper = max(area.getcolors(box.area) or [(0, (0, 0, 0))])[1]
    plain = Image.new("RGB", area.size, paper)  # type: ignore[arg-type]
    drawn = ImageChops.difference(area, plain).getbbox()
    return drawn is None or drawn[2] - drawn[0] <= CARET
