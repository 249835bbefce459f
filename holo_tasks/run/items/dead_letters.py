"""Put an unfinished business item on the dead-letter list, even if the database is unreachable.

`file_item` leaves a note under ``HOLO_HOME`` if the database does not answer. `file_noted` files these notes later.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.machine import pending_notes
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import ALONE, Item, Items, NestedItems, now_text
from holo_tasks.safety.records.ledger import Ledger
from holo_tasks.safety.scrubbing import scrub_text

NOTE = "item"
PLACE = "database"
"""Key in a note: the database that the item was meant for."""
INSIDE, FAILED = "inside", "failed_inside"
"""Keys in a note: the goals that the item replaces on the list, and the goal inside that failed (`NestedItems`)."""
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
    within: NestedItems = ALONE,
) -> str:
    """Put an item on the dead-letter list; return an empty string, or a message if the list was unreachable.

    In that case the item is noted in ``home``, if given, and the message says where. The message is logged as a
    warning. The list's failure is not raised, so that the error of the work itself is reported.
    """
    values: dict[str, Any] = {
        "status": status,
        "reason": scrub_text(reason),
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
    message = await asyncio.to_thread(_write_note, home, item, within, items.place, why)
    logger.warning("%s", message)
    return message


def file_noted(home: Path) -> list[str]:
    """Put the noted items of a home on the list; return a message for each.

    An item that was finished or has failed again since then is left unchanged. A note for another database stays, and a
    message names that database. Filed here, no user of the other database would see it.
    """
    messages, elsewhere = [], Counter[str]()
    # Sub-goals inside others come first: the outer item then replaces them.
    for note in sorted(pending_notes.pending(home, NOTE), key=lambda note: INSIDE in note.says):
        fields = dict(note.says)
        try:
            store = store_at(home)
            if (place := fields.pop(PLACE, store.place)) != store.place:
                elsewhere[str(place)] += 1
                continue
            within = NestedItems(tuple(map(str, fields.pop(INSIDE, ()))), str(fields.pop(FAILED, "")))
            item = Item(**fields)
            if Ledger(store).stored(item.token, item.goal) is None and Items(store).file_late(item, within):
                since = f"is on the list of items that wait for a person since {item.at}"
                messages.append(f"{exact(item.token)} {since}: {exact(' '.join(item.reason.split()))}")
        except TypeError:
            pass  # the note has another format
        except InvalidUsage:
            continue  # the database is still unreachable; commands that need it report that
        note.drop()
    return messages + [
        f"{count} unfinished items are noted in {home} for the list in {place}, which is not the database in use here; "
        f"`holo-tasks runs` with its {DATABASE_VARIABLE} puts them there."
        for place, count in sorted(elsewhere.items())
    ]


def _write_note(home: Path | None, item: Item, within: NestedItems, place: str, why: str) -> str:
    lost = f"{item.token!r} is not on the list of items that wait for a person ({why.rstrip('.')})"
    if home is None:
        return f"{lost}."
    try:
        inside = {INSIDE: [*within.goals], FAILED: within.failed} if within.goals or within.failed else {}
        path = pending_notes.leave(home, NOTE, vars(item) | {PLACE: place} | inside)
    except (OSError, HoloError) as error:
        return f"{lost}, and could not be noted in {home} either ({error})."
    return f"{lost}; it is noted in {path}, and the next `holo-tasks runs` on this machine puts it there."
