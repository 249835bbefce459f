"""Which key produces what, and which keys are free: a picture of the server's keyboard map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ASCII = frozenset(range(0x20, 0x7F))


@dataclass(frozen=True, slots=True)
class Stroke:
    """A key to press, with Shift or without."""

    keycode: int
    shift: bool = False


@dataclass(frozen=True)
class Layout:
    """The keyboard map as the core protocol tells it: ``rows[i]`` is key ``first + i``.

    Only the two plain levels of one group count. What needs AltGr is treated as if no key had it:
    programs disagree on AltGr, but all agree on a key that has nothing but that character.
    """

    first: int
    rows: Sequence[Sequence[int]]

    def strokes(self, group: int) -> dict[int, Stroke]:
        """Return how to produce each keysym while ``group`` (0 or 1) is in force."""
        found: dict[int, Stroke] = {}
        for index, row in enumerate(self.rows):
            levels = row[2 * group : 2 * group + 2]
            # A key with one group keeps it whatever group is in force.
            if not any(levels):
                levels = row[:2]
            for shift, symbol in enumerate(levels):
                if symbol:
                    found.setdefault(symbol, Stroke(self.first + index, bool(shift)))
        return found

    def best_group(self) -> int:
        """Return the group that has most of ASCII: 0 unless the first layout is not Latin."""
        first, second = (len(ASCII.intersection(self.strokes(group))) for group in (0, 1))
        return 1 if second > first else 0

    def free(self) -> list[int]:
        """List the keys that produce nothing."""
        return [self.first + index for index, row in enumerate(self.rows) if not any(row)]

    def symbol(self, keycode: int) -> int:
        """Return what a key produces when pressed alone."""
        row = self.rows[keycode - self.first]
        return row[0] if row else 0
