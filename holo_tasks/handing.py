"""`holo-tasks handoff`: who waits for a person, and answering."""

from __future__ import annotations

import json
import socket
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.home import holo_home
from holo_tasks.printable import printable
from holo_tasks.safety.handoffs import Handoff, Handoffs, words
from holo_tasks.safety.store import store_at
from holo_tasks.whoever import whoever

LOST = "Nobody waits for an answer to hand-off {0.id} any more: its run {0.run_id} is gone. Run it again."


def listed(*, as_json: bool) -> str:
    """Return what waits for a person's answer; the links are for whoever may work on the desktops."""
    found = Handoffs(store_at(holo_home())).waiting()
    if as_json:
        return json.dumps([_told(one) for one in found], ensure_ascii=False)
    return "\n\n".join(map(_described, found))


def resume(id: str, *, choice: str | None = None, note: str = "", by: str | None = None) -> str:
    """Answer a hand-off. Raises `InvalidUsage` if it waits for no answer, or not for this one."""
    handoffs = Handoffs(store_at(holo_home()))
    found = handoffs.find(id)
    if found.state == "open" and found.lost:
        raise InvalidUsage(LOST.format(found))
    said = _chosen(found, choice)
    handoffs.answer(found.id, said, note=note, by=whoever() if by is None else by)
    return f"{found.id}: ‘{printable(said)}’; run {found.run_id} goes on."


def _chosen(handoff: Handoff, choice: str | None) -> str:
    if choice is not None:
        return choice
    if len(handoff.choices) == 1:
        return handoff.choices[0]
    raise InvalidUsage(f"Hand-off {handoff.id} needs --choice {printable(words(handoff.choices))}.")


def _described(handoff: Handoff) -> str:
    lines = [printable(f"{handoff.id}: {handoff.question}")]
    item = f" for {handoff.token}" if handoff.token else ""
    lines.append(f"since {handoff.opened_at}, until {handoff.expires_at}, by run {handoff.run_id}{item}")
    lines.append(f"choices: {words(handoff.choices)}")
    if handoff.lost:
        lines.append("its run has not been heard of for a while: nobody may be waiting for the answer")
    if handoff.live:
        lines.append(f"live desktop: {handoff.live}" if _here(handoff) else f"its live desktop is on {handoff.host}")
    return "\n    ".join(map(printable, lines))


def _told(handoff: Handoff) -> dict[str, Any]:
    return {
        "id": handoff.id,
        "since": handoff.opened_at,
        "expires": handoff.expires_at,
        "run": handoff.run_id,
        "flow_run_id": handoff.flow_run_id or None,
        "token": handoff.token or None,
        "question": handoff.question,
        "choices": list(handoff.choices),
        "live": handoff.live if handoff.live and _here(handoff) else None,
        "host": handoff.host,
        "trace": handoff.trace,
        "picture": handoff.picture or None,
        "lost": handoff.lost,
    }


def _here(handoff: Handoff) -> bool:
    return handoff.host == socket.gethostname()
