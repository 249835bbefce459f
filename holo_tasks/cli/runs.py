"""`holo-tasks runs`: list runs with status, cost and cost limit, and the dead-letter list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from holo_tasks.core.limits.money import usd
from holo_tasks.core.person import SUSPENDED
from holo_tasks.core.texts.printable import printable
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.kill.run_registry import running
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import Item, Items
from holo_tasks.safety.records.run_list import RunBook, RunRow


def listing(home: Path, most: int, *, as_json: bool) -> str:
    """Return the ``most`` newest runs and the dead-letter list, as a text or one JSON object.

    The text also has the ``most`` newest dead letters and the number of older ones. The JSON object has all dead
    letters.
    """
    store = store_at(home)
    alive = {run.run_id for run in running(home)}
    rows = [_with_present_status(row, alive, local=store.local) for row in RunBook(store).latest(most)]
    items = Items(store).all()
    if as_json:
        return json.dumps({"runs": [_plain(row) for row in rows], "items": [asdict(item) for item in items]})
    lines = list(_runs(rows)) if rows else ["No run yet."]
    return "\n".join([*lines, *_items(items, most), *_evidence(home, most)])


def _with_present_status(row: RunRow, alive: set[str], *, local: bool) -> RunRow:
    """Return a row with the present status of its run.

    A run that was never closed and has no process on this machine is "interrupted". With a shared database it stays
    "running", because its process may be on another machine. The cost of a run is unknown until it is closed.
    """
    if row.status != "running":
        return row
    row = replace(row, spent_micro=None)
    if row.run_id in alive or not local:
        return row
    return replace(row, status="interrupted", reason="its process ended without closing it")


def _plain(row: RunRow) -> dict[str, object]:
    values = asdict(row)
    for name in ("spent", "limit"):
        micro = values.pop(f"{name}_micro")
        values[f"{name}_usd"] = None if micro is None else micro / 1_000_000
    return values


def _runs(rows: Sequence[RunRow]) -> Iterable[str]:
    head = ("RUN", "STATUS", "STEPS", "SPENT", "LIMIT", "BEGAN (UTC)", "TITLE")
    table = [
        (
            row.run_id,
            "suspended" if row.reason.startswith(SUSPENDED) else row.status,
            str(row.steps),
            usd(row.spent_micro),
            "none" if row.limit_micro is None else usd(row.limit_micro),
            row.began[:19].replace("T", " "),
            " ".join(row.title.split())[:60],
        )
        for row in rows
    ]
    return aligned([head, *table])


def _items(items: Sequence[Item], most: int) -> Iterable[str]:
    if not items:
        return
    # The goal is shown only if several items have the same token.
    several = len({item.token for item in items}) < len(items)
    how = "ITEM --goal GOAL" if several else "ITEM"
    yield ""
    yield f"{len(items)} waiting to be worked on again (`holo-tasks retry {how}`):"
    head = ("ITEM", *(("GOAL",) if several else ()), "STATUS", "TRIES", "SINCE (UTC)", "REASON")
    table = [
        (
            exact(item.token),
            *((item.goal,) if several else ()),
            item.status,
            str(item.attempts),
            item.at[:19].replace("T", " "),
            " ".join(item.reason.split()),
        )
        for item in items[-most:]
    ]
    yield from aligned([head, *table])
    if len(items) > most:
        yield f"and {len(items) - most} older ones: use a larger --last, or --json for all."


def _evidence(home: Path, most: int) -> Iterable[str]:
    """List the evidence that still waits in the spool. A run prints that only once, at its end."""
    if not (home / "spool").is_dir():
        return
    from holo_tasks.audit.spool import left_behind

    if not (left := left_behind(home)):
        return
    yield ""
    yield f"{len(left)} not in the bucket yet (the next run that records there uploads them, or prints why not):"
    yield from aligned([("EVIDENCE", "GOES TO"), *((str(folder), goes_to) for folder, goes_to in left[-most:])])
    if len(left) > most:
        yield f"and {len(left) - most} older ones."


def aligned(table: Sequence[tuple[str, ...]]) -> Iterable[str]:
    """Return the lines of a table in columns, without control characters."""
    table = [tuple(map(printable, row)) for row in table]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
