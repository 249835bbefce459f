"""`holo-tasks fleet`: progress of work lists, holders of seats and runs at work, on all machines together."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

from holo_tasks.cli.runs import aligned
from holo_tasks.core.limits.money import usd
from holo_tasks.core.texts.visible_text import exact, one_line
from holo_tasks.kill.run_registry import running
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.fleet import Fleet, Holder, ListState, RunState, SeatsState, look

SHOWN = 40
"""Largest number of runs in the output for people. The JSON object has all."""
ENDS = ("done", "failed", "exhausted", "person")


def fleet(home: Path, name: str | None, *, as_json: bool) -> str:
    """Return the overview as a text, or as one JSON object. ``name`` limits it to one list."""
    store = store_at(home)
    # A look must not create a database: the file does not exist before the first run.
    seen = _with_present_runs(look(store, name), store, home) if _exists(store) else Fleet()
    if as_json:
        return json.dumps(_plain(seen))
    return "\n".join([*_lists(seen.lists, name), *_errors(seen.lists), *_seats(seen.seats), *_runs(seen.runs)])


def _exists(store: Store) -> bool:
    return not store.local or Path(store.place).exists()


def _with_present_runs(seen: Fleet, store: Store, home: Path) -> Fleet:
    """Add this machine's name to its runs. With a local database, drop the runs whose process is gone."""
    here = {run.run_id for run in running(home)}
    runs = (replace(run, machine=socket.gethostname()) if run.row.run_id in here else run for run in seen.runs)
    return replace(seen, runs=tuple(run for run in runs if run.row.run_id in here or not store.local))


def _plain(seen: Fleet) -> dict[str, object]:
    return {
        "lists": [_plain_list(one) for one in seen.lists],
        "seats": [{**asdict(one), "taken": len(one.holders)} for one in seen.seats],
        "runs": [_plain_run(one) for one in seen.runs],
    }


def _plain_list(one: ListState) -> dict[str, object]:
    return {
        "name": one.name,
        "open": one.counts.open,
        **asdict(one.counts),
        "done_last_hour": one.done_last_hour,
        "errors": [
            {"state": state, "status": status, "items": items} for (state, status), items in sorted(one.errors.items())
        ],
        "cost_item_usd": _usd(one.cost_item_micro),
        "cost_items": one.cost_items,
    }


def _plain_run(one: RunState) -> dict[str, object]:
    row = one.row
    return {
        "run_id": row.run_id,
        "title": row.title,
        "model": row.model,
        "flow_run_id": row.flow_run_id,
        "lists": list(one.lists),
        "machine": one.machine,
        "items": one.items,
        "began": row.began,
        "spent_usd": _usd(one.spent_micro),
        "limit_usd": _usd(row.limit_micro),
    }


def _usd(micro: int | None) -> float | None:
    return None if micro is None else micro / 1_000_000


def _lists(lists: Iterable[ListState], name: str | None) -> Iterable[str]:
    table = [
        (
            exact(one.name),
            f"{one.counts.open:,}",
            _ready(one),
            f"{one.counts.waiting:,}",
            f"{one.counts.taken:,}",
            *(f"{getattr(one.counts, end):,}" for end in ENDS),
            f"{one.counts.late:,}",
            f"{one.done_last_hour:,}",
            usd(one.cost_item_micro),
        )
        for one in lists
    ]
    if not table:
        yield f"The work list {exact(name)} does not exist." if name else "No work list exists yet."
        return
    ends = (end.upper() for end in ENDS)
    yield from aligned([("LIST", "OPEN", "READY", "WAITING", "TAKEN", *ends, "LATE", "DONE/HOUR", "COST/ITEM"), *table])


def _ready(one: ListState) -> str:
    by = ", ".join(f"{priority} {items:,}" for priority, items in one.counts.ready_by.items())
    return f"{one.counts.ready:,} ({by})" if by else f"{one.counts.ready:,}"


def _errors(lists: Iterable[ListState]) -> Iterable[str]:
    table = [
        (exact(one.name), state, exact(status), f"{items:,}")
        for one in lists
        for (state, status), items in sorted(one.errors.items(), key=lambda error: -error[1])
    ]
    if table:
        yield ""
        yield from aligned([("LIST", "ITEMS ARE", "STOPPED BY", "ITEMS"), *table])


def _seats(seats: Iterable[SeatsState]) -> Iterable[str]:
    table = [
        (exact(one.name), f"{len(one.holders):,} of {one.seats:,}", "; ".join(map(_held, one.holders))) for one in seats
    ]
    if table:
        yield ""
        yield from aligned([("SEAT", "TAKEN", "HELD BY"), *table])


def _held(one: Holder) -> str:
    flow_run = f", flow run {exact(one.flow_run_id)}" if one.flow_run_id else ""
    gone = ", which is gone" if one.alive is False else ""
    return f"process {exact(one.process)} on {exact(one.machine)}{flow_run}{gone}"


def _runs(runs: tuple[RunState, ...]) -> Iterable[str]:
    yield ""
    if not runs:
        yield "No run is at work."
        return
    head = ("RUN", "MACHINE", "ITEMS", "SPENT", "LIMIT", "BEGAN (UTC)", "LISTS", "TITLE")
    table = [
        (
            one.row.run_id,
            exact(one.machine) or "unknown",
            f"{one.items:,}",
            usd(one.spent_micro),
            "none" if one.row.limit_micro is None else usd(one.row.limit_micro),
            one.row.began[:19].replace("T", " "),
            ", ".join(map(exact, one.lists)),
            one_line(one.row.title, 60),
        )
        for one in runs[:SHOWN]
    ]
    yield from aligned([head, *table])
    if len(runs) > SHOWN:
        yield f"and {len(runs) - SHOWN:,} older ones: --json shows all."
