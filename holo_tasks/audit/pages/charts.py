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
    short: str = ""
    """The name in a tooltip, if it is another one."""


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

    @property
    def slot(self) -> float:
        """Width of a bar and the gap next to it."""
        return 1000 / max(len(self.bars), MIN_SLOTS)

    def drawn(self) -> Iterator[tuple[str, str]]:
        """Yield the color of each kind with an SVG path: the parts of all bars. A part with amount 0 is left out."""
        most = max((sum(bar.parts) for bar in self.bars), default=0) or 1
        tops = [float(self.HEIGHT)] * len(self.bars)
        for index, kind in enumerate(self.kinds):
            path = ""
            for number, bar in enumerate(self.bars):
                tall = (self.HEIGHT - 2) * bar.parts[index] / most
                tops[number] -= tall
                if bar.parts[index]:
                    left, width = f"{(number + 0.1) * self.slot:.5g}", f"{0.8 * self.slot:.4g}"
                    path += f"M{left} {tops[number]:.4g}h{width}v{tall:.3g}h-{width}z"
            yield kind.color, path


def shares(parts: Sequence[tuple[str, int]]) -> list[Rect]:
    """Return the parts of a horizontal bar that is 1000 wide. ``parts`` are class names and amounts."""
    total = sum(amount for _, amount in parts) or 1
    x = 0.0
    rects: list[Rect] = []
    for name, amount in parts:
        width = 1000 * max(0, amount) / total
        if width:
            rects.append({"color": name, "x": f"{x:.0f}", "width": f"{width:.0f}"})
        x += width
    return rects
