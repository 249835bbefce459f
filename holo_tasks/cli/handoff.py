"""`holo-tasks handoff`: list the open hand-offs, and answer one. The MCP server also uses `resume`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from dataclasses import replace
from typing import Any

from holo_tasks.audit.pages.formatting import clock, until
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.person import DONE
from holo_tasks.core.texts.printable import printable
from holo_tasks.core.texts.visible_text import exact, shell_word
from holo_tasks.kill.run_registry import running
from holo_tasks.machine.current_user import user_name
from holo_tasks.machine.home import holo_home
from holo_tasks.models.address import shown
from holo_tasks.prefect_server.temporary import configured_api_url, require_server
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoff, Handoffs, check_answer, waiting_handoffs, words

LOST = "Hand-off {0.id} needs no answer any more: its run {0.run_id} is gone. Run it again; it asks again."


def listed(*, as_json: bool) -> str:
    """Return the open hand-offs as a text or a JSON array. The links give access to the desktops."""
    found = _with_lost_marked(waiting_handoffs())
    if as_json:
        return json.dumps([_fields(one) for one in found], ensure_ascii=False)
    return "\n\n".join(map(_described, found))


def resume(id: str, *, choice: str | None = None, note: str = "", by: str | None = None) -> str:
    """Answer a hand-off and return a sentence for stdout. The default choice is the only one, or "done" if offered.

    Raises `InvalidUsage` if it waits for no answer, or does not offer this choice.
    """
    handoffs = Handoffs(store_at(holo_home()))
    (found,) = _with_lost_marked([handoffs.find(id)])
    if found.state == "open" and found.lost:
        raise InvalidUsage(LOST.format(found))
    said = _chosen(found, choice)
    who = user_name() if by is None else by
    if found.suspended and found.state in ("open", "expired"):
        return _resume_flow_run(handoffs, found, said, note, who)
    handoffs.answer(found.id, said, note=note, by=who)
    return f"{found.id}: ‘{printable(said)}’; run {found.run_id} goes on."


def _with_lost_marked(found: list[Handoff]) -> list[Handoff]:
    """Mark hand-offs as lost whose run had its process on this machine, in this home, and is gone.

    With a shared database, runs elsewhere are recognized as gone by their missing renewals.
    """
    folder = holo_home() / "running"
    if os.environ.get(DATABASE_VARIABLE) or not os.access(folder, os.R_OK | os.X_OK):
        return found
    running(folder.parent)  # deletes the files of dead runs
    gone = [
        one
        for one in found
        if not one.suspended and _is_on_this_host(one) and not (folder / f"{one.run_id}.json").exists()
    ]
    return [replace(one, lost=True) if one in gone else one for one in found]


def _resume_flow_run(handoffs: Handoffs, found: Handoff, choice: str, note: str, by: str) -> str:
    """Answer the hand-off of a suspended flow run. Prefect checks the deadline and starts the run again."""
    from holo_tasks.handoff.resume import resume_suspended  # Prefect takes seconds to load

    note = check_answer(found, choice, note, by)
    if not (url := configured_api_url(os.environ)):
        there = f": export PREFECT_API_URL={shell_word(shown(found.api_url))}" if found.api_url else ""
        raise InvalidUsage(f"Set PREFECT_API_URL to the Prefect server of run {found.run_id}, and try again{there}")
    require_server(url)
    asyncio.run(resume_suspended(found, choice, note))
    with contextlib.suppress(InvalidUsage):  # the run has begun already and has read Prefect's form
        handoffs.answer(found.id, choice, note=note, by=by, taken=True)
    return f"{found.id}: ‘{printable(choice)}’; flow run {found.flow_run_id} begins again."


def _chosen(handoff: Handoff, choice: str | None) -> str:
    if choice is not None:
        return choice
    if len(handoff.choices) == 1:
        return handoff.choices[0]
    if DONE in handoff.choices:  # any other choice, such as a yes to an action, must be given
        return DONE
    raise InvalidUsage(f"Hand-off {handoff.id} needs --choice {printable(words(handoff.choices))}.")


def _described(handoff: Handoff) -> str:
    lines = [printable(f"{handoff.id}: {handoff.question}")]
    item = f" for {exact(handoff.token)}" if handoff.token else ""
    since = clock(handoff.opened_at, date=True) or handoff.opened_at
    lines.append(f"since {since}, {until(handoff.expires_at)}, by run {handoff.run_id}{item}")
    lines.append(f"choices: {words(handoff.choices)}")
    if handoff.suspended:
        lines.append("its flow run is suspended, and starts again after the answer")
    if handoff.lost:
        lines.append("its run is gone and needs no answer: run it again, and it asks again")
    if handoff.live:
        lines.append(
            f"live desktop: {handoff.live}" if _is_on_this_host(handoff) else f"its live desktop is on {handoff.host}"
        )
    return "\n    ".join(map(printable, lines))


def _fields(handoff: Handoff) -> dict[str, Any]:
    return {
        "id": handoff.id,
        "since": handoff.opened_at,
        "expires": handoff.expires_at,
        "run": handoff.run_id,
        "flow_run_id": handoff.flow_run_id or None,
        "token": handoff.token or None,
        "question": handoff.question,
        "choices": list(handoff.choices),
        "live": handoff.live if handoff.live and _is_on_this_host(handoff) else None,
        "host": handoff.host,
        "trace": handoff.trace,
        "picture": handoff.picture or None,
        "lost": handoff.lost,
        "suspended": handoff.suspended,
    }


def _is_on_this_host(handoff: Handoff) -> bool:
    return handoff.host == socket.gethostname()
