"""Interfaces of the OCR reader that maskers use, and the grouping of its lines into rows and wrapped text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box


class ReadLine(Protocol):
    """One line of text that OCR read, with its box in pixels of the screen."""

    @property
    def text(self) -> str: ...

    @property
    def box(self) -> Box: ...

    @property
    def score(self) -> float:
        """Confidence of the reader, from 0 to 1."""
        ...


class LineReader(Protocol):
    """OCR reader. The same pixels always give the same lines."""

    def lines(self, frame: Frame) -> Sequence[ReadLine]:
        """Return all lines of text on a frame."""
        ...

    def again(self, frame: Frame, box: Box) -> Sequence[str]:
        """Read one line with other settings; return the alternative texts."""
        ...


@dataclass(frozen=True)
class Row:
    """Neighboring lines that are read as one text, joined by spaces."""

    lines: tuple[ReadLine, ...]

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    def parts(self, start: int, end: int) -> list[tuple[ReadLine, int, int]]:
        """Return the lines that a range of the row's text covers, each with its own start and end."""
        found, offset = [], 0
        for line in self.lines:
            first, last = max(0, start - offset), min(len(line.text), end - offset)
            if first < last:
                found.append((line, first, last))
            offset += len(line.text) + 1
        return found


APART = 1.2
"""Widest gap between two lines of a row, in line heights."""
_DOWN = 1.6
"""Largest vertical distance between two lines of a paragraph, in line heights."""


def rows_of(lines: Sequence[ReadLine]) -> list[Row]:
    """Group lines that are next to each other into rows, from left to right. Each line is in exactly one row."""
    rows: list[list[ReadLine]] = []
    for line in sorted(lines, key=lambda line: (line.box.left, line.box.top)):
        near = [row for row in rows if _continues(row[-1].box, line.box)]
        if near:
            max(near, key=lambda row: row[-1].box.right).append(line)
        else:
            rows.append([line])
    return [Row(tuple(row)) for row in rows]


def wraps_of(rows: Sequence[Row]) -> list[Row]:
    """Return merged rows for each pair in which the second may continue the text of the first below it."""
    found = []
    for row in rows:
        first = row.lines[0].box
        for other in rows:
            start = other.lines[0].box
            down = start.center.y - first.center.y
            overlaps = (
                start.left < max(line.box.right for line in row.lines) and first.left < start.right + first.height
            )
            if other is not row and 0 < down <= _DOWN * max(first.height, start.height) and overlaps:
                found.append(Row((*row.lines, *other.lines)))
    return found


def _continues(before: Box, after: Box) -> bool:
    height = max(before.height, after.height)
    same = abs(before.center.y - after.center.y) * 2 <= min(before.height, after.height)
    return same and -0.5 * height <= after.left - before.right <= APART * height
