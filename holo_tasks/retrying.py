"""`holo-tasks retry`: drive an item of the dead-letter list again, or say what became of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.outcome import GOAL
from holo_tasks.safety.budgets import Budgets
from holo_tasks.safety.items import Item, Items
from holo_tasks.safety.ledger import Ledger
from holo_tasks.safety.store import store_at

Again = Callable[[Sequence[str]], int]


def retry(home: Path, token: str, *, done: str | None, not_done: bool, again: Again) -> tuple[str, int]:
    """Drive one item again; return what there is to say and the exit code.

    ``done`` is the answer of an item that a person has seen to be finished; ``not_done`` says that a person has seen
    that the effect is not there. Without either, what is in doubt stays in doubt: it is probed, never repeated.
    ``again`` runs the command line with some arguments.
    """
    store = store_at(home)
    items, ledger = Items(store), Ledger(store)
    item = items.find(token)
    if item is None:
        known = ", ".join(repr(found.token) for found in items.all()) or "none"
        raise InvalidUsage(f"There is no item {token!r} on the list; there are: {known}.")
    if done is not None:
        _finish(ledger, item, done)
        items.settle(token)
        return f"{token} is finished: a person said so.", 0
    if not_done:
        ledger.forget(token)
    # A person has decided to spend more on it.
    Budgets(store).forget(f"item:{token}:")
    return _drive(item, again)


def _finish(ledger: Ledger, item: Item, answer: str) -> None:
    if item.how.get("kind") != "run":
        raise InvalidUsage(
            f"{item.token!r} belongs to a flow, and only that knows its result: give its sub-goal a probe."
        )
    inputs = str(item.how["inputs"])
    with ledger.claim(item.token, GOAL) as claim:
        stored = json.dumps({"answer": answer, "flow_run_id": item.flow_run_id})
        ledger.finish(claim, inputs, stored, item.trace)


def _drive(item: Item, again: Again) -> tuple[str, int]:
    if item.how.get("kind") == "run":
        return "", again(tuple(str(word) for word in item.how["arguments"]))
    deployment = str(item.how.get("deployment_id") or "")
    if not deployment:
        return (
            f"{item.token} is free to be worked on again: run its flow; it takes up what is not done.",
            0,
        )
    return asyncio.run(_deploy(deployment, item)), 0


async def _deploy(deployment: str, item: Item) -> str:
    """Run the deployment again with the parameters of the run that failed."""
    from uuid import UUID

    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    async with get_client() as client:
        try:
            before = await client.read_flow_run(UUID(item.flow_run_id))
            made = await client.create_flow_run_from_deployment(UUID(deployment), parameters=before.parameters)
        except ObjectNotFound:
            raise InvalidUsage(
                f"Prefect no longer knows the run or the deployment of {item.token!r}; run its flow by hand."
            ) from None
    return f"{item.token} is driven again by flow run {made.name} ({made.id}); it takes up what is not done."
