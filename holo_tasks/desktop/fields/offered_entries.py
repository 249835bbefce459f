"""Waits before Enter in a field that offers a list, until the list fits the typed text.

A page looks for the entries a moment after the last key. Enter would take the entry that was marked before.
"""

from __future__ import annotations

import time

from holo_tasks.core.elements.elements import Element
from holo_tasks.core.elements.open_lists import keyboard_field, offers_list
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields.changed_field import Fields, blinked
from holo_tasks.desktop.fields.focused_field import FocusedField
from holo_tasks.desktop.stop.interrupt import Interrupt

REST_S = 0.35
"""Seconds without a change after which a list counts as complete. Pages wait up to 0.3 s for further keys."""
MOST_S = 3.0
"""Seconds after which a list that keeps changing is no longer waited for."""
LIST_TALL = 300
"""Pixels around a field in which its list may be, also outside of the window."""


class OfferedEntries:
    """Waits for the list of the field with the keyboard. A field without a list costs one look at the elements."""

    def __init__(self, focused: FocusedField, fields: Fields, interrupt: Interrupt) -> None:
        self._focused = focused
        self._fields = fields
        self._interrupt = interrupt

    def await_entries(self, last_event_ns: int) -> None:
        """Return once the window stays the same for `REST_S`, if Enter may take an entry of a list.

        Other windows do not count. A screen that never settles has an animation, and there is one wait only.
        """
        self._focused.read()
        tree = self._focused.tree
        field = None if tree is None else keyboard_field(tree)
        if tree is None or field is None or not offers_list(tree, field):
            return
        until = time.monotonic() + MOST_S
        before, settled = self._fields.look(last_event_ns)
        area = self._area(field)
        while settled and time.monotonic() < until:
            self._interrupt.sleep(REST_S)
            after, settled = self._fields.look(time.monotonic_ns())
            if blinked(before, after, area):
                return
            before = after

    def _area(self, field: Element) -> Box | None:
        """Return the window with the keyboard and the surroundings of the field, ``None`` for the whole screen."""
        window = self._fields.windows()[-1]
        return None if window is None else Box.around([window, field.box.grown(LIST_TALL)])
