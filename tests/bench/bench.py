"""`make bench`: the overhead of a step beyond the model and the program, for several setups in one run.

All parts are real: X server, window manager, a Tk program, a Prefect server, the recorder, HTTP. Only the model is a
script that takes 200 ms. Machines are shared and noisy: read medians and ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import statistics
import time
from typing import TYPE_CHECKING, Any

from common import headline, prefect_server, scratch_home

if TYPE_CHECKING:
    from tests.support.scripted_model import ScriptedModel

MODEL_S = 0.2
# The sleeps of the tutorial loop in seed 000: after each action, and before the next screenshot.
NAIVE_SLEEPS_S = (0.5, 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    headline(__file__, "the overhead of a step beyond the model and the program")
    with scratch_home(), prefect_server():
        asyncio.run(_steps(options.steps))


async def _steps(count: int) -> None:
    from probe_counter import __file__ as counter

    from holo_tasks.desktop import VirtualDesktop, tk_python
    from tests.support.scripted_model import Answer, ScriptedModel, step

    def script(number: int, body: dict[str, Any]) -> Any:
        if body["messages"][-1] and sum(m["role"] == "assistant" for m in body["messages"]) >= count:
            return Answer(json.dumps(step("answer", content="done")), delay_s=MODEL_S)
        # Two clicks at one position within half a second would be a double click; the desktop separates them.
        click = step("click", element="Count button", x=320 + 60 * (number % 2), y=450)
        return Answer(json.dumps(click), delay_s=MODEL_S)

    started, app = time.monotonic(), shlex.join([tk_python(), counter])
    async with VirtualDesktop(app=app) as desktop:
        print(f"desktop with its program up          {time.monotonic() - started:.2f} s  {_parts(desktop.started_s)}")
        with ScriptedModel(script) as model:
            full = await _agent(desktop, model.base_url, as_tasks=True)
            outside = _as_the_server_sees_it(model)
            bare = await _agent(desktop, model.base_url, as_tasks=False)
            async with VirtualDesktop(app=app) as bare_desktop:  # a desktop that serves a run accepts no other input
                naive = await _naive(bare_desktop, model.base_url, min(count, 15))
            empty = await _empty_subgoals(max(3, count // 4))
    print(f"\n{count} clicks on a real desktop, a model of {MODEL_S * 1000:.0f} ms, recording on; medians")
    print(f"  overhead a step, Prefect on         {_ms(full['overhead'])}   (aim ≤ 100 ms)")
    print(f"  overhead a step, without Prefect    {_ms(bare['overhead'])}")
    prefect = statistics.median(full["overhead"]) - statistics.median(bare["overhead"])
    print(f"  Prefect's part                      {prefect * 1000:6.1f} ms")
    print(f"  from a reply to the next request    {_ms(outside)}   (aim ≤ 90 ms; by the model's server, Prefect on)")
    print(f"  of which waiting for quiet          {_ms(full['quiet'])}")
    print(f"  last repaint to captured frame      {_ms(full['to_frame'])}   (aim ≤ 80 ms)")
    print(f"  capture / encode                    {_ms(full['capture'])} / {_ms(full['encode'])}")
    print(f"  act                                 {_ms(full['act'])}")
    print(f"  an empty sub-goal subflow           {_ms(empty)}   (aim ≤ 200 ms)")
    step_s, naive_s = statistics.median(full["total"]), statistics.median(naive)
    print(f"  a whole step                        {_ms(full['total'])}   {60 / step_s:.0f} steps a minute")
    print(f"  the same by a loop with sleeps      {_ms(naive)}   {60 / naive_s:.0f} steps a minute")
    print(f"  ratio                               {naive_s / step_s:.1f} times as fast")


def _as_the_server_sees_it(model: ScriptedModel) -> list[float]:
    """Return the times from each reply to the next request, without the first ones, which load modules."""
    pairs = zip(model.replied_s, model.arrived_s[1:], strict=False)
    return [arrived - replied for replied, arrived in pairs][2:]


async def _agent(desktop: Any, base_url: str, *, as_tasks: bool) -> dict[str, list[float]]:
    from prefect import flow

    from holo_tasks.agent.agent_step import act_as_task, decide_as_task
    from holo_tasks.agent.open_agent import open_agent
    from holo_tasks.audit import Destination, open_trace
    from holo_tasks.core.prompts.transcript import Transcript
    from holo_tasks.loop import loop
    from holo_tasks.loop.executor import Executor
    from holo_tasks.loop.walk import Walk
    from holo_tasks.machine.home import holo_home
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.models.profile import profile_for
    from holo_tasks.run.run_options import RunOptions

    endpoint = ModelEndpoint(base_url, None)

    @flow(name="bench", persist_result=False)
    async def bench() -> str:
        async with open_agent(
            title="bench",
            desktop=desktop,
            endpoint=endpoint,
            profile=profile_for("holo3-1-35b-a3b"),
            destination=Destination.parse(str(holo_home() / "runs")),
            options=RunOptions(allow="act", max_steps=1000),
        ) as run:
            walk = Walk(run.services(), run.guard, 1, Transcript("Count."))
            decide = decide_as_task if as_tasks else lambda walk, answer_only: walk.decide(answer_only=answer_only)
            act = act_as_task if as_tasks else lambda walk, step: walk.act(step)
            await loop.pursue(Executor(walk, act), read=str, decide=decide, max_steps=1000)
            return run.trace

    trace = await bench()
    await endpoint.close()
    events = [record.event for record in open_trace(trace).records()]
    replies = [event.latency_us for event in events if event.kind == "reply"]
    frames = [event for event in events if event.kind == "frame"][1:]
    timed = [event for event in events if event.kind == "step_timed"]
    steps = list(zip(timed, replies, frames, strict=False))[2:]
    repaint = [max(0, frame.settle_us - frame.quiet_us) for _, _, frame in steps]
    return {
        "total": [timing.total_us / 1e6 for timing, _, _ in steps],
        "overhead": [
            (timing.total_us - reply - own) / 1e6 for (timing, reply, _), own in zip(steps, repaint, strict=True)
        ],
        "quiet": [frame.quiet_us / 1e6 for _, _, frame in steps],
        "to_frame": [(frame.quiet_us + frame.capture_us) / 1e6 for _, _, frame in steps],
        "capture": [frame.capture_us / 1e6 for _, _, frame in steps],
        "encode": [frame.encode_us / 1e6 for _, _, frame in steps],
        "act": [timing.act_us / 1e6 for timing, _, _ in steps],
    }


async def _naive(desktop: Any, base_url: str, count: int) -> list[float]:
    """Run the loop of the tutorials: screenshot, ask, click, sleep."""
    from holo_tasks.core.input.gestures import Click
    from holo_tasks.core.prompts.transcript import Observed, Transcript
    from holo_tasks.core.screen.frame import RedactedFrame
    from holo_tasks.core.screen.geometry import Point
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.models.dialects import dialect_for
    from holo_tasks.models.encoding import ENCODERS
    from holo_tasks.models.profile import profile_for

    endpoint, dialect = ModelEndpoint(base_url, None), dialect_for(profile_for("holo3-1-35b-a3b"))
    times = []
    for _ in range(count):
        started = time.monotonic()
        shot = ENCODERS["default"].encode(RedactedFrame(await desktop.look()))
        await endpoint.complete(dialect.request(Transcript("Count.").extended(Observed(shot))).body, timeout_s=30)
        await desktop.do(Click(Point(448, 360)))
        for seconds in NAIVE_SLEEPS_S:
            await asyncio.sleep(seconds)
        times.append(time.monotonic() - started)
    await endpoint.close()
    return times


async def _empty_subgoals(count: int) -> list[float]:
    from prefect import flow

    @flow(name="empty sub-goal", persist_result=False, validate_parameters=False)
    async def empty() -> None: ...

    @flow(name="parent", persist_result=False)
    async def parent() -> list[float]:
        times = []
        for _ in range(count):
            started = time.monotonic()
            await empty()
            times.append(time.monotonic() - started)
        return times

    return (await parent())[1:]


def _ms(values: list[float]) -> str:
    return f"{statistics.median(values) * 1000:6.1f} ms"


def _parts(parts: dict[str, float]) -> str:
    return "(" + ", ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items()) + ")"


if __name__ == "__main__":
    main()
