"""`earlier_work`: find work that an earlier version of a flow stored under other keys, so that it is not done again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from holo_tasks.agent.subgoal import known_by_key
from holo_tasks.run.run import current_run


def earlier_work(
    work: Callable[..., Any], keys: Mapping[str, str], is_of: Callable[[str, Any], bool]
) -> dict[str, Any | None]:
    """Return the stored result of each item that a sub-goal worked on under its earlier key, by current key.

    ``keys`` maps each current key to the earlier one. The result is ``None`` for work that was begun and not finished.
    A stored result counts only if ``is_of(key, result)`` is true. If two items shared one earlier key, its unfinished
    work belongs to neither item.

    Call it inside an open agent. Raises `InvalidUsage` for work without a key.
    """
    run, known = current_run(), known_by_key(work, "earlier_work")
    found: dict[str, Any | None] = {}
    listed = {item.token for item in run.items.all()}
    sharing = Counter(keys.values())
    for key, earlier in keys.items():
        done = run.ledger.stored(earlier, known.goal)
        if done is not None:
            result = known.returns.validate_json(done.result)
            if is_of(key, result):
                found[key] = result
        elif sharing[earlier] == 1 and (earlier in listed or run.ledger.intents(earlier)):
            found[key] = None
    return found
