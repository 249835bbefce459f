"""Bar charts as inline SVG, each with its numbers as a table for who cannot or would not look at bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

FEWEST = 24


@dataclass(frozen=True)
class Bar:
    """A bar: what it stands for, where a click on it leads, and its parts from the bottom up, in the chart's unit."""

    name: str
    parts: Sequence[int]
    href: str = ""


@dataclass(frozen=True)
class Kind:
    """One part that all bars of a chart have: its color, as a class of the style sheet, and its name."""

    color: str
    name: str


Rect: TypeAlias = Mapping[str, str]
"""A part of a bar as SVG draws it: its attributes, and ``color``, a class of the style sheet."""


@dataclass(frozen=True)
class Chart:
    """What chart.html draws. ``key`` is unique in the page, ``each`` says what a bar is, ``about`` what they show
    together, ``legend`` has colors (or none) with words.

    The bars can be pointed at; with a keyboard the table is the way, so that nobody tabs through hundreds of bars.
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
        """Yield each bar with its rectangles; a part of nothing has none."""
        most = max((sum(bar.parts) for bar in self.bars), default=0) or 1
        width = 1000 / max(len(self.bars), FEWEST)
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
    """The parts of a lying bar that is 1000 wide; ``parts`` are class names and amounts."""
    total = sum(amount for _, amount in parts) or 1
    x = 0.0
    rects: list[Rect] = []
    for name, amount in parts:
        width = 1000 * max(0, amount) / total
        rects.append({"color": name, "x": f"{x:.1f}", "width": f"{width:.1f}"})
        x += width
    return rects
