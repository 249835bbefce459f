"""`holo-tasks approve`: list the actions that wait for an approval, and approve one."""

from __future__ import annotations

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.printable import printable
from holo_tasks.core.texts.visible_text import exact, shell_word
from holo_tasks.machine.current_user import user_name
from holo_tasks.machine.home import holo_home
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.approvals import Approvals, WaitingApproval
from holo_tasks.safety.records.ledger import Ledger


def approve(number: int | None, *, by: str | None = None, ttl_s: float) -> str:
    """Approve the action of request ``number`` once, for ``ttl_s`` seconds. Without a number, list the open requests.

    Returns the text to print, which is empty if no request is open. Raises `InvalidUsage` for an unknown number.
    """
    store = store_at(holo_home())
    approvals = Approvals(store)
    if number is None:
        return "\n\n".join(map(_described, approvals.waiting()))
    if not -(2**63) <= number < 2**63:
        raise InvalidUsage(f"There is no approval {number}; `holo-tasks approve` lists the open requests.")
    granted = approvals.grant(number, user_name() if by is None else by, ttl_s)
    text = f"{printable(granted.words)}: yes, once, within {ttl_s:g} seconds, for {exact(granted.scope)}."
    token = granted.scope.removeprefix("token ")
    if token != granted.scope and (before := len(Ledger(store).intents(token))):
        text += (
            f"\n    Actions done before it: {before}. If they may be done again, run the work again with "
            f"`holo-tasks retry {shell_word(token)} --not-done`."
        )
    return text


def _described(waiting: WaitingApproval) -> str:
    text = f"for {exact(waiting.scope)}, asked {waiting.asked_at} by run {waiting.run_id}; evidence: {waiting.evidence}"
    return f"{waiting.id}: {printable(waiting.words)}\n    {printable(text)}"
