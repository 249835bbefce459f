"""What a sub-goal or a step could not finish is put on the dead-letter list, once for its business item."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import HoloError, InvalidUsage, UnfitItem
from holo_tasks.run.dead_letters import file_item
from holo_tasks.run.subgoal_context import Subgoal
from holo_tasks.safety.items import WORKER, Items, Within
from holo_tasks.safety.ledger import worker


async def file_unfinished(
    items: Items,
    home: Path | None,
    token: str,
    goal: str,
    error: BaseException,
    status: str,
    *,
    around: Subgoal | None,
    resume: Mapping[str, Any],
    listed: Collection[str] = (),
    why: str = "",
    deployment_id: str = "",
    trace: str = "",
    flow_run_id: str = "",
) -> None:
    """Put a business item that could not be finished on the list.

    Of works inside each other with the same token it is there for the outermost, but counted once: ``listed`` are the
    goals inside that failed and are on the list, ``around`` is the sub-goal that the work is a part of. ``resume`` is
    what is needed to take a person's word for the result.
    """
    mistake = isinstance(error, InvalidUsage) and not (isinstance(error, UnfitItem) or error.half_done)
    if not token or mistake:
        return
    how = {"kind": "flow", "deployment_id": deployment_id, WORKER: worker(), **resume}
    filed, failed = getattr(error, "filed_as", ("", ""))
    within = Within(frozenset(listed), failed if filed == token else "")
    error.filed_as = token, goal  # type: ignore[attr-defined]
    if (outer := _around_with(token, around)) is not None:
        outer.listed.add(goal)
    reason = why or (str(error) if isinstance(error, HoloError) else f"{type(error).__name__}: {error}")
    await file_item(
        items,
        home,
        token,
        goal,
        status=status,
        reason=reason,
        trace=trace,
        flow_run_id=flow_run_id,
        how=how,
        within=within,
    )


def _around_with(token: str, around: Subgoal | None) -> Subgoal | None:
    """Return the next sub-goal outwards that works on the same business item."""
    while around is not None and around.token != token:
        around = around.around
    return around
