"""Waits before Enter in a field that offers a list, until the list fits the typed text.

A page looks for the entries a moment after the last key. Enter would take the entry that was marked before.
"""

from __future__ import annotations

import time

from holo_tasks.core.elements.open_lists import keyboard_field, offers_list
from holo_tasks.desktop.fields.changed_field import Fields, blinked
from holo_tasks.desktop.fields.focused_field import FocusedField
from holo_tasks.desktop.stop.interrupt import Interrupt

REST_S = 0.35
"""Seconds without a change after which a list counts as complete. Pages wait up to 0.3 s for further keys."""
MOST_S = 3.0
"""Longest wait in seconds for a list that keeps changing."""


class OfferedEntries:
    """Waits for the list of the field with the keyboard. A field without a list costs one look at the elements."""

    def __init__(self, focused: FocusedField, fields: Fields, interrupt: Interrupt) -> None:
        self._focused = focused
        self._fields = fields
        self._interrupt = interrupt

    def await_entries(self, last_event_ns: int) -> None:
        """Return once the screen stays the same for `REST_S`, if Enter may take an entry of a list."""
        self._focused.read()
        tree = self._focused.tree
        if tree is None or not offers_list(keyboard_field(tree)):
            return
        until = time.monotonic() + MOST_S
        before, _ = self._fields.look(last_event_ns)
        while time.monotonic() < until:
            self._interrupt.sleep(REST_S)
            after, _ = self._fields.look(time.monotonic_ns())
            if all(blinked(before, after, window) for window in self._fields.windows()):
                return
            before = after
