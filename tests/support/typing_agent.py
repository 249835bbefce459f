"""Agents on their own desktops, one after another, in one process that a test starts, stops and observes from outside.

A JSON line on stdin requests a run. Its keys: ``model`` (the model's URL), ``inputs`` (the log of a witness),
``timeout`` (seconds until the run has to end), ``block`` (two numbers: when and for how long to block the event loop),
``env`` (the environment of the desktop), ``retries`` (of its flow), ``display`` (an existing display; by default a new
one), ``around`` (a flow around it), ``tasks`` (type inside tasks and steps), and ``question`` (ask a person instead of
typing).

Lines on stdout report the start and the end of a run.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from prefect import flow, task

from holo_tasks import Limits, agent_step, hand_over, pursue, step, subgoal
from holo_tasks.agent.cost_guardrail import before_deadline, cost_guardrail
from holo_tasks.agent.open_agent import open_agent
from holo_tasks.audit import Destination
from holo_tasks.core.errors import HoloError
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.machine.home import holo_home
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.run.run_options import RunOptions
from tests.support.inputs import Inputs, window, witnessed


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


@subgoal
async def type_on() -> str:
    """Type endlessly."""
    found: str = await pursue("Type.", max_steps=1000)
    return found


@subgoal(key="{question}")
async def ask(question: str) -> str:
    """Hand the screen to a person."""
    return (await hand_over(question)).note


@task(name="a task inside")
async def inside_tasks() -> str:
    return await inside_step()


@agent_step(acts=False, title="a step of an agent")
async def inside_step() -> str:
    return await inside_key(secrets.token_hex(4))


@step(key="{key}", title="a step with a key")
async def inside_key(key: str) -> str:
    return await type_on()


@flow(name="typing", persist_result=False)
async def typing(asked: dict[str, Any]) -> None:
    log, timeout = Path(asked["inputs"]), asked.get("timeout")
    display = asked.get("display")
    own = VirtualDesktop(app=witnessed(log)) if display is None else None
    desktop = own or AttachedDesktop(display, app=window(log))
    endpoint = ModelEndpoint(asked["model"], None)
    async with AsyncExitStack() as stack:
        with patch.dict(os.environ, asked.get("env") or {}):
            await stack.enter_async_context(desktop)
        while not Inputs(log).ready:
            await asyncio.sleep(0.01)
        try:
            async with open_agent(
                title="typing",
                desktop=desktop,
                endpoint=endpoint,
                profile=profile_for("holo3-1-35b-a3b"),
                destination=Destination.parse(str(holo_home() / "runs")),
                options=RunOptions(allow="act", limits=Limits(timeout_seconds=timeout)),
            ) as run:
                ids = {"flow_run": flow_run(), "around": asked.get("around_id")}
                say(run=run.run_id, trace=run.trace, deadline=run.guard.deadline_s, **ids)
                if block := asked.get("block"):
                    after_s, for_s = block
                    asyncio.get_running_loop().call_later(after_s, time.sleep, for_s)
                question, work = asked.get("question"), inside_tasks if asked.get("tasks") else type_on
                await before_deadline(run.guard, ask(question) if question else work())
        finally:
            await endpoint.close()


@flow(name="around", persist_result=False)
async def beside(asked: dict[str, Any], *, goes_on: bool) -> None:
    """Run the agent as a flow inside this one, next to another task."""
    agent = typing({**asked, "around_id": flow_run()})
    await asyncio.gather(agent, asyncio.sleep(0), return_exceptions=goes_on)


@flow(name="around", persist_result=False)
@cost_guardrail(max_actions=100_000)
async def guarded(asked: dict[str, Any]) -> None:
    await tried_again(asked)({**asked, "around_id": flow_run()})


def tried_again(asked: dict[str, Any]) -> Any:
    """Return the agent's flow with the requested number of retries."""
    return typing.with_options(retries=asked.get("retries", 0))


@task(name="a task around")
async def around_flow(asked: dict[str, Any]) -> None:
    await typing(asked)


@task(name="a task around a task")
async def around_task(asked: dict[str, Any]) -> None:
    await around_flow(asked)


@flow(name="around", persist_result=False)
async def with_task(asked: dict[str, Any]) -> None:
    await around_task({**asked, "around_id": flow_run()})


def story(asked: dict[str, Any]) -> Coroutine[Any, Any, None]:
    match asked.get("around"):
        case "guarded":
            return guarded(asked)
        case "task":
            return with_task(asked)
        case "beside another" | "goes on" as how:
            return beside(asked, goes_on=how == "goes on")
        case _:
            return tried_again(asked)(asked)


def flow_run() -> str:
    from holo_tasks.run.prefect_edge.flow_context import flow_run_id

    return flow_run_id()


def main() -> None:
    say(ready=True)
    for line in sys.stdin:
        try:
            asked = json.loads(line)
            asyncio.run(story(asked))
            say(ended="answered")
        except HoloError as error:
            say(ended=error.status, reason=str(error))
        except asyncio.CancelledError as error:
            say(ended="killed", reason=str(error))
        except Exception as error:
            say(ended="failed", reason=repr(error))


if __name__ == "__main__":
    main()
