"""Putting an unfinished business item on the dead-letter list, also when the list cannot be reached just then."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.visible_text import exact
from holo_tasks.machine import pending_notes
from holo_tasks.safety.database_address import DATABASE_VARIABLE
from holo_tasks.safety.items import ALONE, Item, Items, Within, now_text
from holo_tasks.safety.ledger import Ledger
from holo_tasks.safety.scrubbing import hushed
from holo_tasks.safety.store import store_at

NOTE = "item"
PLACE = "database"
"""In a note: where the list is that the item is meant for."""
INSIDE, FAILED = "inside", "failed_inside"
"""In a note: what the item is on the list instead of (`Within`)."""
logger = logging.getLogger(__name__)


async def file_item(
    items: Items,
    home: Path | None,
    token: str,
    goal: str,
    *,
    status: str,
    reason: str,
    trace: str,
    flow_run_id: str,
    how: Mapping[str, Any],
    within: Within = ALONE,
) -> str:
    """Put an item on the list. Where that cannot be done it is noted in ``home``, and what to tell of that returned.

    What is wrong with the work is told in any case; what is wrong with the list comes after.
    """
    values: dict[str, Any] = {
        "status": status,
        "reason": hushed(reason),
        "trace": trace,
        "flow_run_id": flow_run_id,
        "how": dict(how),
    }
    try:
        await asyncio.to_thread(lambda: items.file(token, goal, **values, within=within))
        return ""
    except InvalidUsage as error:
        why = str(error)
    item = Item(token=token, goal=goal, **values, attempts=1, at=now_text())
    told = await asyncio.to_thread(_noted, home, item, within, items.place, why)
    logger.warning("%s", told)
    return told


def file_noted(home: Path) -> list[str]:
    """Put on the list what was noted in a home because it could not be done; return what there is to say of it.

    An item that was finished, or failed again, since then is left as it is. One of another database is left to a
    command that uses that one: filed here, nobody who looks there would ever see it.
    """
    told, elsewhere = [], Counter[str]()
    # A sub-goal inside another one was noted before that.
    for note in sorted(pending_notes.left(home, NOTE), key=lambda note: INSIDE in note.says):
        says = dict(note.says)
        try:
            store = store_at(home)
            if (place := says.pop(PLACE, store.place)) != store.place:
                elsewhere[str(place)] += 1
                continue
            within = Within(tuple(map(str, says.pop(INSIDE, ()))), str(says.pop(FAILED, "")))
            item = Item(**says)
            if Ledger(store).stored(item.token, item.goal) is None and Items(store).file_late(item, within):
                since = f"is on the list of what waits for somebody since {item.at}"
                told.append(f"{exact(item.token)} {since}: {exact(' '.join(item.reason.split()))}")
        except TypeError:
            pass  # not one of ours
        except InvalidUsage:
            continue  # the database is still away; what needs it says so
        note.drop()
    return told + [
        f"{count} unfinished items are noted in {home} for the list in {place}, which is not the database in use here; "
        f"`holo-tasks runs` with its {DATABASE_VARIABLE} puts them there."
        for place, count in sorted(elsewhere.items())
    ]


def _noted(home: Path | None, item: Item, within: Within, place: str, why: str) -> str:
    lost = f"{item.token!r} is not on the list of what waits for somebody ({why.rstrip('.')})"
    if home is None:
        return f"{lost}."
    try:
        inside = {INSIDE: [*within.goals], FAILED: within.failed} if within.goals or within.failed else {}
        path = pending_notes.leave(home, NOTE, vars(item) | {PLACE: place} | inside)
    except (OSError, HoloError) as error:
        return f"{lost}, and could not be noted in {home} either ({error})."
    return f"{lost}; it is noted in {path}, and the next `holo-tasks runs` on this machine puts it there."
