"""`holo-tasks retry`: work on an item of the dead-letter list again, or record its result."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holo_tasks.cli.settings import check_text
from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.core.texts.visible_text import exact
from holo_tasks.machine.output import say
from holo_tasks.machine.patience import is_away, retry_while_unavailable, tells
from holo_tasks.prefect_server.temporary import configured_api_url, require_server
from holo_tasks.run.items.retry_conflicts import refuse_active_run
from holo_tasks.run.prefect_edge.internals import schema_errors
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.items import Item, Items
from holo_tasks.safety.records.ledger import Ledger
from holo_tasks.safety.records.work_items import WorkItems

MOST_NAMES, MOST_LETTERS = 10, 100
Again = Callable[[Sequence[str]], int]


def retry(
    home: Path, token: str, *, goal: str | None = None, done: str | None, not_done: bool, again: Again
) -> tuple[str, int]:
    """Work on one item again. Return the text for stdout and the exit code.

    ``goal`` selects the item if several have this token. ``done`` is the result of work that a person found finished.
    For nested sub-goals it is the JSON result of the innermost one that failed, and the others are worked on again.
    ``not_done`` says that a person found no effect. Without either, half-done work is probed and never repeated.
    ``again`` runs the command line with the given arguments.
    """
    store = store_at(home)
    items, ledger = Items(store), Ledger(store)
    same = items.of(token)
    item = _the_one(same, items, token, goal)
    failed = str(item.how.get("goal") or item.goal)
    if done is not None and failed == item.goal:
        _finish(ledger, item, failed, done)
        items.settle(token, item.goal)
        WorkItems(store).again(token)  # the next worker that takes it finds the result
        return f"A person marked {exact(token)} as finished.", 0
    # With several items of this token, the person has looked for the effect of one only.
    looked_for = {item.goal, failed} if len(same) > 1 else None

    def make_ready() -> None:
        if done is not None:
            _finish(ledger, item, failed, done)
        ledger.free(token, not_done=not_done, goals=looked_for)
        WorkItems(store).again(token)

    said, code = _drive(item, again, make_ready, store, home)
    return (said if done is None else f"A person marked ‘{failed}’ as finished. {said}"), code


def _the_one(same: Sequence[Item], items: Items, token: str, goal: str | None) -> Item:
    """Return the item with this goal. Raises `InvalidUsage` if no item or several items fit."""
    meant = [item for item in same if goal in (None, item.goal)]
    if len(meant) == 1:
        return meant[0]
    goals = _names([item.goal for item in same])
    if meant:
        raise InvalidUsage(f"{len(same)} items {token!r} are on the list; say which one with --goal: {goals}.")
    if same:
        raise InvalidUsage(f"There is no item {token!r} with the goal {goal!r} on the list; its goals there: {goals}.")
    tokens = list(dict.fromkeys(item.token for item in items.all()))
    raise InvalidUsage(f"There is no item {token!r} on the list; there are: {_names(tokens)}.")


def _names(all: Sequence[str]) -> str:
    """Return up to `MOST_NAMES` names, the newest, and the number of older ones."""
    newest = [repr(name[:MOST_LETTERS]) for name in all[-MOST_NAMES:]]
    more = f"{len(all) - len(newest)} older ones and " if len(all) > len(newest) else ""
    return more + ", ".join(newest) if newest else "none"


def _finish(ledger: Ledger, item: Item, goal: str, answer: str) -> None:
    """Store a person's answer as the result of the failed goal in the ledger."""
    check_text("answer", answer)
    if "inputs" not in item.how:
        raise InvalidUsage(
            f"Only its flow knows the result of {item.token!r}: give the sub-goal a probe, or use --not-done "
            "if its effect is not there."
        )
    if item.how.get("kind") == "run":
        result: Any = {"answer": answer, "flow_run_id": item.flow_run_id}
    else:
        result = _result(goal, item.how.get("returns") or {}, answer)
    with ledger.claim(item.token, goal) as claim:
        ledger.finish(claim, str(item.how["inputs"]), json.dumps(result), item.trace)


def _result(goal: str, schema: dict[str, Any], answer: str) -> Any:
    """Parse a sub-goal's result. Raises `InvalidUsage` if it does not fit ``schema``, since later runs read it."""
    if schema.get("type") == "string":
        return answer
    wanted = f"the result of ‘{goal}’ is JSON that fits {json.dumps(schema)}."
    try:
        result = json.loads(answer)
    except ValueError:
        raise InvalidUsage(f"{answer!r} is not JSON; {wanted}") from None
    if wrong := schema_errors(result, schema):
        raise InvalidUsage(f"{wrong[0]}; {wanted}")
    return result


def _drive(item: Item, again: Again, make_ready: Callable[[], None], store: Store, home: Path) -> tuple[str, int]:
    """Start the work again. Return the text for stdout and the exit code.

    ``make_ready`` is called when all checks have passed, right before the start.
    """
    if item.how.get("kind") == "run":
        _require_prefect()
        make_ready()
        return "", again(tuple(str(word) for word in item.how["arguments"]))
    deployment = str(item.how.get("deployment_id") or "")
    if not deployment:
        make_ready()
        return (
            f"{exact(item.token)} is free to be worked on again: run its flow, which goes on with the unfinished work.",
            0,
        )
    _require_prefect()
    return asyncio.run(_deploy(deployment, item, make_ready, store, home)), 0


def _require_prefect() -> None:
    if url := configured_api_url(os.environ):
        tells.set(say)
        retry_while_unavailable(lambda: require_server(url))


async def _deploy(deployment: str, item: Item, make_ready: Callable[[], None], store: Store, home: Path) -> str:
    """Create a flow run of the deployment with the parameters of the failed run, and return a sentence.

    If the new run is over already, its successor is created in turn.
    """
    from uuid import UUID

    import httpx
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound, PrefectException

    try:
        async with get_client() as client:
            made = await client.read_flow_run(UUID(item.flow_run_id))
            again = False
            while not again or (made.state is not None and made.state.is_final()):
                before = made
                states = await client.read_flow_run_states(before.id)
                await asyncio.to_thread(refuse_active_run, item, before, states, store, home)
                await client.read_deployment(UUID(deployment))
                await asyncio.to_thread(make_ready)
                # Prefect creates one run per idempotency key, so concurrent calls, and calls that find no note (see
                # below), get the same run. If that run is over, the loop creates its successor.
                key = f"holo-tasks retry {before.id} {item.token} {item.goal}"
                made = await client.create_flow_run_from_deployment(
                    UUID(deployment),
                    parameters=before.parameters,
                    idempotency_key=hashlib.sha256(key.encode(errors="replace")).hexdigest(),
                )
                again = True
            with contextlib.suppress(InvalidUsage):  # the database is away; the idempotency key finds the run
                await asyncio.to_thread(Items(store).driven, item, str(made.id))
    except ObjectNotFound:
        raise InvalidUsage(
            f"Prefect no longer knows the run or the deployment of {item.token!r}; run its flow by hand."
        ) from None
    except (httpx.HTTPError, PrefectException, RuntimeError) as error:
        why = first_line(error)
        raise (Unavailable if is_away(error) else InvalidUsage)(
            f"Prefect's server did not take a run of {item.token!r} ({why}); check PREFECT_API_URL, then retry it."
        ) from None
    return f"Flow run {made.name} ({made.id}) works on {exact(item.token)} again, and does only the unfinished work."
