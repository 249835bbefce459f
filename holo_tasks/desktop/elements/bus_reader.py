"""Open the reader of a bus in the background, and tell the bus's programs that their elements are read."""

from __future__ import annotations

import threading
from concurrent.futures import wait
from typing import TYPE_CHECKING

from holo_tasks.accessibility.bus import Bus

if TYPE_CHECKING:
    from holo_tasks.accessibility.reader import Reader

LONGEST_S = 5.0
"""Seconds that a program's start waits for the announcement, which takes 0.2 s on an idle machine."""


class BusReader:
    """The reader of one bus. AT-SPI's modules are loaded when it is first opened."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.opened: Reader | None = None
        self._opening = threading.Lock()
        self._announcing: threading.Thread | None = None

    def announce(self) -> None:
        """Begin to tell programs that their elements are read, if the bus belongs to this desktop."""
        if self.bus.process is not None and not self.bus.unavailable_reason:
            self._announcing = threading.Thread(target=self._announce, name="announcement", daemon=True)
            self._announcing.start()

    def await_announcement(self) -> None:
        """Wait for the end of the announcement to programs, at most `LONGEST_S`.

        Qt 6.4 publishes nothing, ever, if its program starts before and the X server names the bus.
        """
        if self._announcing is not None:
            self._announcing.join(LONGEST_S)

    def open(self) -> Reader:
        """Return the reader, which is the same for all callers."""
        with self._opening:
            if self.opened is None:
                from holo_tasks.accessibility.reader import Reader

                self.opened = Reader(self.bus.address)
            return self.opened

    def _announce(self) -> None:
        wait([self.open().announce(self.bus.address_for_programs)], LONGEST_S)
