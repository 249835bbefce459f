"""The keyboard map of an X server: the keysyms of each key, and the free keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

ASCII = frozenset(range(0x20, 0x7F))


@dataclass(frozen=True, slots=True)
class Stroke:
    """A key to press, with Shift or without."""

    keycode: int
    shift: bool = False


@dataclass(frozen=True)
class Layout:
    """The keyboard map as in the core protocol: ``rows[i]`` belongs to key ``first + i``.

    Only the two levels of one group are used, without and with Shift. Characters that need AltGr count as missing:
    programs disagree on AltGr, but all agree on a key that has only that character.
    """

    first: int
    rows: Sequence[Sequence[int]]

    def strokes(self, group: int) -> Mapping[int, Stroke]:
        """Return the stroke for each keysym while ``group`` (0 or 1) is in force."""
        return self._groups[group]

    @cached_property
    def _groups(self) -> tuple[Mapping[int, Stroke], Mapping[int, Stroke]]:
        return self._strokes_of(0), self._strokes_of(1)

    def _strokes_of(self, group: int) -> dict[int, Stroke]:
        found: dict[int, Stroke] = {}
        for index, row in enumerate(self.rows):
            levels = row[2 * group : 2 * group + 2]
            # A key with one group uses it in every group.
            if not any(levels):
                levels = row[:2]
            for shift, symbol in enumerate(levels):
                if symbol:
                    found.setdefault(symbol, Stroke(self.first + index, bool(shift)))
        return found

    def best_group(self) -> int:
        """Return the group with the most ASCII characters: 0 unless the first layout is not Latin."""
        first, second = (len(ASCII.intersection(self.strokes(group))) for group in (0, 1))
        return 1 if second > first else 0

    def free(self) -> list[int]:
        """List the keys that produce no keysym."""
        return [self.first + index for index, row in enumerate(self.rows) if not any(row)]

    def symbol(self, keycode: int) -> int:
        """Return the keysym of a key when it is pressed alone."""
        row = self.rows[keycode - self.first]
        return row[0] if row else 0
