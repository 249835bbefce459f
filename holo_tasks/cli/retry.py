"""`holo-tasks retry`: drive an item of the dead-letter list again, or say what became of it."""

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
from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.visible_text import exact
from holo_tasks.machine.output import say
from holo_tasks.machine.patience import is_away, tells, waited
from holo_tasks.prefect_server.temporary import configured_api_url, require_server
from holo_tasks.run.retry_conflicts import refuse_active_run
from holo_tasks.safety.items import Item, Items
from holo_tasks.safety.ledger import Ledger
from holo_tasks.safety.store import Store, store_at
from holo_tasks.safety.work_items import WorkItems

MOST_NAMES, MOST_LETTERS = 10, 100
Again = Callable[[Sequence[str]], int]


def retry(
    home: Path, token: str, *, goal: str | None = None, done: str | None, not_done: bool, again: Again
) -> tuple[str, int]:
    """Drive one item again; return what there is to say and the exit code.

    ``goal`` says which one, where two kinds of work on one business item are on the list.
    ``done`` is the result of what a person has seen to be finished: of a flow's sub-goals inside each other the one
    that failed by itself, as JSON; the rest is driven again. ``not_done`` says that a person has seen that the effect
    is not there. Without either, what is in doubt stays in doubt: it is probed, never repeated. ``again`` runs the
    command line with some arguments.
    """
    store = store_at(home)
    items, ledger = Items(store), Ledger(store)
    same = items.of(token)
    item = _the_one(same, items, token, goal)
    failed = str(item.how.get("goal") or item.goal)
    if done is not None and failed == item.goal:
        _finish(ledger, item, failed, done)
        items.settle(token, item.goal)
        WorkItems(store).again(token)  # whoever takes it from its list finds it done
        return f"{exact(token)} is finished: a person said so.", 0
    # Who looked for the effect of one has not looked for those of the others.
    looked_for = {item.goal, failed} if len(same) > 1 else None

    def make_ready() -> None:
        if done is not None:
            _finish(ledger, item, failed, done)
        ledger.free(token, not_done=not_done, goals=looked_for)
        WorkItems(store).again(token)

    said, code = _drive(item, again, make_ready, store, home)
    return (said if done is None else f"‘{failed}’ is finished: a person said so. {said}"), code


def _the_one(same: Sequence[Item], items: Items, token: str, goal: str | None) -> Item:
    """Return the item that is meant, of those that have its token; raise `InvalidUsage` if none is, or nobody knows."""
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
    """Name what is on the list: the newest, where there is much."""
    newest = [repr(name[:MOST_LETTERS]) for name in all[-MOST_NAMES:]]
    more = f"{len(all) - len(newest)} older ones and " if len(all) > len(newest) else ""
    return more + ", ".join(newest) if newest else "none"


def _finish(ledger: Ledger, item: Item, goal: str, answer: str) -> None:
    """Keep what a person has seen to be the result of the goal that failed."""
    check_text("answer", answer)
    if "inputs" not in item.how:
        raise InvalidUsage(
            f"Only its flow knows what the result of {item.token!r} is: give the sub-goal a probe, or say --not-done "
            "if its effect is not there."
        )
    if item.how.get("kind") == "run":
        result: Any = {"answer": answer, "flow_run_id": item.flow_run_id}
    else:
        result = _result(goal, item.how.get("returns") or {}, answer)
    with ledger.claim(item.token, goal) as claim:
        ledger.finish(claim, str(item.how["inputs"]), json.dumps(result), item.trace)


def _result(goal: str, schema: dict[str, Any], answer: str) -> Any:
    """Read a sub-goal's result. One that its flow could not read would be in the way of every later run."""
    from prefect.utilities.schema_tools.validation import validate

    if schema.get("type") == "string":
        return answer
    wanted = f"the result of ‘{goal}’ is JSON that fits {json.dumps(schema)}."
    try:
        result = json.loads(answer)
    except ValueError:
        raise InvalidUsage(f"{answer!r} is not JSON; {wanted}") from None
    if wrong := validate(result, schema, preprocess=False):
        raise InvalidUsage(f"{wrong[0].message}; {wanted}")
    return result


def _drive(item: Item, again: Again, make_ready: Callable[[], None], store: Store, home: Path) -> tuple[str, int]:
    """Begin the work again; ``make_ready`` is called once it is known that it can begin, and before it does."""
    if item.how.get("kind") == "run":
        _require_prefect()
        make_ready()
        return "", again(tuple(str(word) for word in item.how["arguments"]))
    deployment = str(item.how.get("deployment_id") or "")
    if not deployment:
        make_ready()
        return (
            f"{exact(item.token)} is free to be worked on again: run its flow; it takes up what is not done.",
            0,
        )
    _require_prefect()
    return asyncio.run(_deploy(deployment, item, make_ready, store, home)), 0


def _require_prefect() -> None:
    if url := configured_api_url(os.environ):
        tells.set(say)
        waited(lambda: require_server(url))


async def _deploy(deployment: str, item: Item, make_ready: Callable[[], None], store: Store, home: Path) -> str:
    """Run the deployment again with the parameters of the run that failed, once for each time that it is over."""
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
                # Prefect makes one run of a key: whoever asks at the same time, or for want of the note below, is told
                # of the same one. If that is over, too, it is the next one's turn.
                key = f"holo-tasks retry {before.id} {item.token} {item.goal}"
                made = await client.create_flow_run_from_deployment(
                    UUID(deployment),
                    parameters=before.parameters,
                    idempotency_key=hashlib.sha256(key.encode(errors="replace")).hexdigest(),
                )
                again = True
            with contextlib.suppress(InvalidUsage):  # the database is away: the key tells of it
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
    return f"{exact(item.token)} is driven again by flow run {made.name} ({made.id}); it takes up what is not done."
