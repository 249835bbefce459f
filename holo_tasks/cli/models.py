"""`holo-tasks models`: list the model profiles."""

from __future__ import annotations

import io
import json
import shutil
from typing import get_args

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table

from holo_tasks.cli.settings import model_name
from holo_tasks.models.profile import DialectName, Profile, profiles

HEADS = (
    "model",
    "family",
    "dialects",
    "context",
    "max output",
    "$/M in",
    "$/M out",
    "$/M cached",
    "images",
    "tools",
    "note",
)
FIGURES = range(3, 9)
WIDEST = 1_000_000


def model_list(*, as_json: bool, tty: bool) -> str:
    """Return the profiles as a table or a JSON array, with the default model marked."""
    known, default = profiles(), model_name()
    if as_json:
        return json.dumps(
            [{**one.model_dump(mode="json"), "default": name == default} for name, one in known.items()],
            ensure_ascii=False,
        )
    return _drawn([_row(one, default=name == default) for name, one in known.items()], tty=tty)


def _row(profile: Profile, *, default: bool) -> list[str]:
    price = profile.price
    prices = (price.input, price.output, price.cached) if price else (None, None, None)
    cells = [
        f"{profile.name} (default)" if default else profile.name,
        profile.family,
        ", ".join(profile.dialects),
        str(profile.context_tokens),
        str(profile.max_output_tokens),
        *("unknown" if amount is None else str(amount) for amount in prices),
        str(profile.image_budget),
        _tools(profile),
        _note(profile),
    ]
    return [" ".join(cell.split()) for cell in cells]


def _tools(profile: Profile) -> str:
    """Return how the names and the set of the model's tools differ from the standard ones."""
    if profile.dialects == ("holotron",):
        return "flat actions"
    words = [f"…{profile.tool_suffix}"] if profile.tool_suffix else []
    words += [f"{name}={spoken}" for name, spoken in profile.tool_names.items()]
    if profile.tools is not None:
        words.append(f"only {' '.join(profile.tools)}")
    return ", ".join(words) or "standard"


def _note(profile: Profile) -> str:
    unspoken = [name for name in get_args(DialectName) if name not in profile.dialects]
    words = [profile.note, f"not spoken: {', '.join(unspoken)}" if unspoken else ""]
    return "; ".join(filter(None, words))


def _drawn(rows: list[list[str]], *, tty: bool) -> str:
    """Draw a table with a line per model. On a terminal that is too narrow, each model gets a paragraph."""
    drawn = io.StringIO()
    console = Console(
        file=drawn,
        width=WIDEST,
        force_terminal=tty,
        color_system="auto" if tty else None,
        markup=False,
        emoji=False,
        highlight=False,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, head in enumerate(HEADS):
        table.add_column(head, justify="right" if place in FIGURES else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    width, room = Measurement.get(console, console.options, table).maximum, shutil.get_terminal_size().columns
    if not tty or width <= room:
        console.width = width
        console.print(table)
    else:
        console.width = room
        for name, *cells in rows:
            console.print(name, style="bold")
            words = "; ".join(f"{head} {cell}" for head, cell in zip(HEADS[1:], cells, strict=True) if cell)
            console.print(Padding(words, (0, 0, 0, 4)))
    return "\n".join(line.rstrip() for line in drawn.getvalue().strip("\n").splitlines())
