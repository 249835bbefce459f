"""Describe bar charts for chart.html: inline SVG, with the same numbers as a table for accessibility."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

MIN_SLOTS = 24


@dataclass(frozen=True)
class Bar:
    """A bar: its name, the amounts of its parts from bottom to top, and the target of a click on it."""

    name: str
    parts: Sequence[int]
    href: str = ""


@dataclass(frozen=True)
class Kind:
    """A part that all bars of a chart have: its color (a class of the style sheet) and its name."""

    color: str
    name: str


Rect: TypeAlias = Mapping[str, str]
"""The SVG attributes of a part of a bar, and ``color``, a class of the style sheet."""


@dataclass(frozen=True)
class Chart:
    """The data of a chart in chart.html.

    ``key`` is unique in the page. ``each`` is the noun for one bar, ``about`` describes the whole chart, and ``legend``
    lists colors (or empty strings) with labels. Bars can be clicked but not reached with Tab: keyboard users take the
    table, since there may be hundreds of bars.
    """

    HEIGHT: ClassVar = 96

    key: str
    title: str
    about: str
    kinds: Sequence[Kind]
    bars: Sequence[Bar]
    amount: Callable[[int], str]
    each: str
    legend: Sequence[tuple[str, str]]

    def drawn(self) -> Iterator[tuple[Bar, list[Rect]]]:
        """Yield each bar with its rectangles. A part with amount 0 has none."""
        most = max((sum(bar.parts) for bar in self.bars), default=0) or 1
        width = 1000 / max(len(self.bars), MIN_SLOTS)
        for number, bar in enumerate(self.bars):
            top = float(self.HEIGHT)
            rects: list[Rect] = []
            x, across = f"{number * width + width * 0.1:.2f}", f"{width * 0.8:.2f}"
            for kind, part in zip(self.kinds, bar.parts, strict=True):
                tall = (self.HEIGHT - 2) * part / most
                top -= tall
                if part:
                    rects.append(
                        {"color": kind.color, "x": x, "y": f"{top:.2f}", "width": across, "height": f"{tall:.2f}"}
                    )
            yield bar, rects


def shares(parts: Sequence[tuple[str, int]]) -> list[Rect]:
    """Return the parts of a horizontal bar that is 1000 wide. ``parts`` are class names and amounts."""
    total = sum(amount for _, amount in parts) or 1
    x = 0.0
    rects: list[Rect] = []
    for name, amount in parts:
        width = 1000 * max(0, amount) / total
        rects.append({"color": name, "x": f"{x:.1f}", "width": f"{width:.1f}"})
        x += width
    return rects
