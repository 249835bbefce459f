"""Bar charts as inline SVG, each with its numbers as a table for who cannot or would not look at bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holo_tasks.audit.pages.formatting import safe

FEWEST = 24
HEIGHT = 96


@dataclass(frozen=True)
class Bar:
    """A bar: what it stands for, where a click on it leads, and its parts from the bottom up, in the chart's unit."""

    name: str
    parts: Sequence[int]
    href: str = ""


@dataclass(frozen=True)
class Kind:
    """One part that all bars of a chart have: its colour, as a class of the style sheet, and its name."""

    colour: str
    name: str


def bar_chart(
    key: str,
    title: str,
    about: str,
    kinds: Sequence[Kind],
    bars: Sequence[Bar],
    amount: Callable[[int], str],
    *,
    each: str,
    legend: str,
) -> str:
    """Draw the chart. ``key`` is unique in the page, ``each`` says what a bar is, ``about`` what they show together.

    The bars can be pointed at; with a keyboard the table is the way, so that nobody tabs through hundreds of bars.
    """
    most = max((sum(bar.parts) for bar in bars), default=0) or 1
    width = 1000 / max(len(bars), FEWEST)
    drawn = "".join(_drawn(number, bar, kinds, width, most, amount) for number, bar in enumerate(bars))
    return (
        f'<figure class="panel where"><svg viewBox="0 0 1000 {HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-labelledby="{key}-t" aria-describedby="{key}-d"><title id="{key}-t">{safe(title)}</title>'
        f'<desc id="{key}-d">{safe(about)}</desc>{drawn}</svg>'
        f'<figcaption class="legend">{legend}</figcaption>{_table(title, each, kinds, bars, amount)}</figure>'
    )


def _drawn(number: int, bar: Bar, kinds: Sequence[Kind], width: float, most: int, amount: Callable[[int], str]) -> str:
    top, rects = float(HEIGHT), []
    for kind, part in zip(kinds, bar.parts, strict=True):
        tall = (HEIGHT - 2) * part / most
        top -= tall
        at = f'x="{number * width + width * 0.1:.2f}" y="{top:.2f}" width="{width * 0.8:.2f}" height="{tall:.2f}"'
        rects.append(f'<rect class="{kind.colour}" {at}/>' if part else "")
    inner = f"<title>{safe(bar.name)}: {amount(sum(bar.parts))}</title>{''.join(rects)}"
    return f'<a href="{safe(bar.href)}" tabindex="-1">{inner}</a>' if bar.href else f"<g>{inner}</g>"


def _table(title: str, each: str, kinds: Sequence[Kind], bars: Sequence[Bar], amount: Callable[[int], str]) -> str:
    several = len(kinds) > 1
    heads = [*(kind.name for kind in kinds), *(["Together"] if several else [])]
    rows = []
    for bar in bars:
        name = f'<a href="{safe(bar.href)}">{safe(bar.name)}</a>' if bar.href else safe(bar.name)
        cells = [*bar.parts, *([sum(bar.parts)] if several else [])]
        numbers = "".join(f'<td class="num">{amount(cell)}</td>' for cell in cells)
        rows.append(f'<tr><th scope="row"><bdi>{name}</bdi></th>{numbers}</tr>')
    head = "".join(f'<th scope="col" class="num">{name}</th>' for name in heads)
    return (
        f'<details><summary>{safe(title)} as a table</summary><table><caption class="sr">{safe(title)}</caption>'
        f'<thead><tr><th scope="col">{each}</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></details>'
    )
