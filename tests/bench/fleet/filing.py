"""The flow of a fleet: it files reports of a list, by a model or by a playbook. `make fleet` deploys it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "blocks")]

from prefect import flow  # noqa: E402
from prefect.client.base import PrefectHttpxAsyncClient  # noqa: E402

from holo_blocks import HoloDesktop, holo_agents  # noqa: E402
from holo_tasks import NOT_DONE, Effect, NotDone, Script, Seat, WorkList, pursue, subgoal  # noqa: E402
from tests.bench.fleet.program import filed  # noqa: E402

By = Literal["model", "playbook"]
BLOCK = "fleet"
PLAYBOOK = Path(__file__).with_name("filing.playbook.yaml")
GOAL = "File the report that is named, and answer with the receipt's number."
LOG, TOLD = "FLEET_LOG", "FLEET_TOLD"
"""Variables with the path of the program's own log, and of the file for the runs' measurements."""
DESKTOPS = "FLEET_DESKTOPS"
"""Variable with the number of desktops of a machine."""


def by_playbook(report: str) -> Script:
    return Script(PLAYBOOK, "file", report=report)


async def look(report: str) -> str | NotDone:
    """Look up in the program's log whether a report is filed."""
    found = [str(line["receipt"]) for line in filed(Path(os.environ[LOG])) if line["report"] == report]
    return found[0] if found else NOT_DONE


async def _file(report: str) -> str:
    return str(await pursue(f"{GOAL} It is the report named {report}."))


file_by_model = subgoal(title="File {report}", key="{report}", effect=Effect(probe=look), ledger="filing")(_file)


@subgoal(
    title="File {report}",
    key="{report}",
    data=["report"],
    effect=Effect(probe=look),
    ledger="filing",
    layers=[by_playbook],
)
async def file_by_playbook(report: str) -> str:
    return str(await pursue(GOAL))


def told(**values: Any) -> None:
    """Append a measurement as a line of JSON."""
    line = json.dumps({"at": time.time(), "pid": os.getpid(), **values}) + "\n"
    with Path(os.environ[TOLD]).open("a") as file:
        file.write(line)


@flow(name="file reports", persist_result=False)
async def file_reports(work_list: str, most: int, by: By = "model", seats: int = 100) -> int:
    work, done = (file_by_playbook if by == "playbook" else file_by_model), 0
    desktops = int(os.environ[DESKTOPS])
    told(what="run", desktops=desktops)
    async with (
        _measured() as spent,
        holo_agents(
            "file reports",
            desktops=desktops,
            model=BLOCK,
            desktop=BLOCK,
            audit=BLOCK,
            allow="act",
            seat=Seat(f"report desk of {work_list}", of=seats),
        ) as agents,
    ):
        async for one in WorkList(work_list).map(work, agents, most=most):
            error = "" if one.error is None else f"{type(one.error).__name__}: {one.error}"
            told(what="item", report=one.item.key, error=error, tries=one.item.tries, api_s=spent[0])
            done += one.error is None
    return done


@asynccontextmanager
async def _measured() -> AsyncIterator[list[float]]:
    """Add up this process's time for Prefect's answers; record the start time of each desktop."""
    spent = [0.0]
    send: Callable[..., Awaitable[Any]] = PrefectHttpxAsyncClient.send
    start: Callable[..., Awaitable[Any]] = HoloDesktop.start

    async def timed_send(*given: Any, **named: Any) -> Any:
        began = time.monotonic()
        try:
            return await send(*given, **named)
        finally:
            spent[0] += time.monotonic() - began

    async def timed_start(*given: Any, **named: Any) -> Any:
        began = time.monotonic()
        found = await start(*given, **named)
        told(what="desktop", seconds=time.monotonic() - began)
        return found

    PrefectHttpxAsyncClient.send = timed_send  # type: ignore[method-assign]
    HoloDesktop.start = timed_start  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        PrefectHttpxAsyncClient.send = send  # type: ignore[method-assign,assignment]
        HoloDesktop.start = start  # type: ignore[method-assign,assignment]
