"""Savings by the decision cache when the same work is repeated, and wrong cache hits.

The same look-up in the legacy program on a real desktop, five times from its start, with the rehearsal model. The
cases: cache off; cache on; cache on with a text cursor that does not blink; the same while the program is slow and
opens tips at other moments each time. Afterwards every reused decision is compared with the model's answer to the same
request. Then pairs of screens that differ in a single digit, or in one pixel by one level of brightness, go through the
same cache. The second of a pair must miss, the first one again must hit.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import READ, headline, ledger, prefect_server, rehearsal, scratch_home, showing, table

if TYPE_CHECKING:
    from holo_tasks.core.ports import Reply
    from holo_tasks.core.prompts.model import Model
    from holo_tasks.core.prompts.step import Step
    from holo_tasks.core.screen.frame import Frame
    from holo_tasks.loop.walk import Walk
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.run.run import Run

RUNS = 5
PAIRS = 500
FAINT_PAIRS = 100
REFERENCE = "TX-10482"
MOOD = 7
MODEL_MS = 1000
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


@dataclass
class Counting:
    """A model client that counts the requests that reach the endpoint."""

    inner: ModelEndpoint
    calls: int = 0

    @property
    def endpoint(self) -> str:
        return self.inner.endpoint

    async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
        self.calls += 1
        return await self.inner.complete(body, timeout_s=timeout_s)


@dataclass(frozen=True)
class Case:
    """A way to repeat the look-up; ``moods`` are the seeds of the program's delays and tips, by run."""

    name: str
    moods: Sequence[int]
    cached: bool = True
    still: bool = False

    @property
    def goal(self) -> str:
        """The agent's goal, with the case's name, so that no case profits from the cache of another."""
        return f"{READ.format(REFERENCE)} (Case: {self.name}.)"


@dataclass
class Ran:
    """The result of one look-up; ``reused`` are the requests that were not sent, with the cached decisions."""

    answer: str = ""
    steps: int = 0
    calls: int = 0
    micro_usd: int = 0
    seconds: float = 0.0
    reused: list[tuple[dict[str, Any], Step]] = field(default_factory=list)
    wrong: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--cases", type=int, default=4, help="number of the four cases to run")
    parser.add_argument("--model-ms", type=int, default=MODEL_MS, help="latency of the model in ms (%(default)s)")
    options = parser.parse_args()
    headline(__file__, "reusing decisions")
    with scratch_home() as home, prefect_server(), rehearsal(latency_ms=options.model_ms) as base_url:
        same, others = [MOOD] * options.runs, range(MOOD, MOOD + options.runs)
        cases = [
            Case("cache off", same, cached=False),
            Case("cache on", same),
            Case("cache on, still cursor", same, still=True),
            Case("cache on, still cursor, moody", others, still=True),
        ][: options.cases]
        _print_runs(
            options.model_ms,
            [(case, [asyncio.run(_look_up(home, base_url, case, mood)) for mood in case.moods]) for case in cases],
        )
        asyncio.run(_pairs(home, options.pairs))


def _print_runs(model_ms: int, found: list[tuple[Case, list[Ran]]]) -> None:
    without = _dollars(found[0][1])
    rows: list[list[object]] = []
    for case, runs in found:
        steps, asked = sum(run.steps for run in runs), sum(run.calls for run in runs)
        pace = statistics.median(60 * run.steps / run.seconds for run in runs)
        figures = [f"{1 - asked / steps:.0%}", f"{_dollars(runs):.5f}", f"{1 - _dollars(runs) / without:.0%}"]
        hits, wrong = sum(len(run.reused) for run in runs), sum(run.wrong for run in runs)
        answers = len({run.answer for run in runs})
        rows.append([case.name, len(runs), steps, asked, *figures, f"{pace:.0f}", hits, wrong, answers])
    columns = ("", "runs", "steps", "calls", "saved", "$ a run", "saved", "steps a minute", "hits", "wrong", "answers")
    table(f"look up {REFERENCE} from the program's start; the model takes {model_ms / 1000:g} s", columns, rows)
    for case, runs in found:
        print(f"  calls run by run, {case.name}: {', '.join(f'{run.calls} of {run.steps}' for run in runs)}")
    print("  wrong: reused decisions that differ from the model's answer to the same request")


def _dollars(runs: list[Ran]) -> float:
    return sum(run.micro_usd for run in runs) / 1e6 / len(runs)


async def _look_up(home: Path, base_url: str, case: Case, mood: int) -> Ran:
    """Run the look-up once; check the reused decisions after the program has ended."""
    from holo_tasks.agent.agent_step import decide_as_task
    from holo_tasks.models.client import ModelEndpoint

    ran, endpoint = Ran(), ModelEndpoint(base_url, None)

    async def work(run: Run, client: Counting) -> None:
        from holo_tasks.agent.agent_step import act_as_task
        from holo_tasks.core.prompts.transcript import Transcript
        from holo_tasks.loop import loop
        from holo_tasks.loop.executor import Executor
        from holo_tasks.loop.walk import Walk

        async def decide(walk: Walk, answer_only: bool) -> Step:
            before, request = client.calls, walk.request(answer_only=answer_only)
            step = await decide_as_task(walk, answer_only)
            if client.calls == before:
                ran.reused.append((request.body, step))
            return step

        walk = Walk(run.services(), run.guard, 1, Transcript(case.goal))
        started = time.monotonic()
        answered = await loop.pursue(Executor(walk, act_as_task), read=str, decide=decide, max_steps=60)
        ran.seconds = time.monotonic() - started
        ran.answer, ran.steps, ran.calls = answered.text, answered.steps, client.calls
        ran.micro_usd = run.guard.spent_micro

    async with ledger(home, None, "--seed", str(mood), still=case.still) as desktop:
        model = await _in_flow(desktop, endpoint, "rehearsal", case.cached, work)
    for body, step in ran.reused:
        again = model.dialect.parse(await endpoint.complete(body, timeout_s=60))
        ran.wrong += (again.note, again.thought, again.tool_call) != (step.note, step.thought, step.tool_call)
    await endpoint.close()
    return ran


async def _in_flow(desktop: Any, endpoint: ModelEndpoint, profile: str, cached: bool, work: Any) -> Model:
    """Run a function inside a Prefect flow with an open agent, its calls counted; return its model."""
    from prefect import flow

    @flow(name="bench", persist_result=False)
    async def bench() -> list[Model]:
        async with _agent(desktop, endpoint, profile, cached) as (run, client):
            await work(run, client)
            return [run.outside.model]

    return (await bench())[0]


@asynccontextmanager
async def _agent(
    desktop: Any, endpoint: ModelEndpoint, profile: str, cached: bool
) -> AsyncIterator[tuple[Run, Counting]]:
    from holo_tasks.agent.open_agent import open_agent
    from holo_tasks.audit import Destination
    from holo_tasks.machine.home import holo_home
    from holo_tasks.models.profile import profile_for
    from holo_tasks.run.run_options import RunOptions

    async with open_agent(
        title="bench",
        desktop=desktop,
        endpoint=endpoint,
        profile=profile_for(profile),
        destination=Destination.parse(str(holo_home() / "runs")),
        options=RunOptions(allow="act", cache_decisions=cached, max_steps=10_000),
    ) as run:
        client = Counting(endpoint)
        run.outside = replace(run.outside, model=replace(run.outside.model, client=client))
        yield run, client


async def _pairs(home: Path, count: int) -> None:
    """Send pairs of nearly equal screens through Prefect's own cache."""
    from holo_tasks.agent.agent_step import decide_as_task
    from holo_tasks.core.prompts.transcript import Transcript
    from holo_tasks.loop.walk import Walk
    from holo_tasks.models.client import ModelEndpoint
    from tests.support.scripted_model import ScriptedModel, step

    async with ledger(home) as desktop:
        real = await desktop.look()
    numbers = random.Random(4)
    rows: list[list[object]] = []
    reused_s: list[float] = []

    def reply(number: int, body: dict[str, Any]) -> dict[str, Any]:
        body.clear()  # else every picture would stay in memory
        return step("answer", content=f"request {number}")

    async def work(run: Run, client: Counting) -> None:
        async def hit(frame: Frame) -> tuple[bool, str]:
            run.outside = replace(run.outside, desktop=showing([frame]))
            walk = Walk(run.services(), run.guard, 1, Transcript("Read the number."))
            shot = (await walk.look()).shot
            walk.begin()
            before, started = client.calls, time.monotonic()
            await decide_as_task(walk, False)
            if client.calls == before:
                reused_s.append(time.monotonic() - started)
            return client.calls == before, shot.sha256

        for kind, most, apart in (("a digit", count, _digit_apart), ("a pixel", min(count, FAINT_PAIRS), _pixel_apart)):
            first, second, again, same = 0, 0, 0, 0
            for _ in range(most):
                one, other = apart(real, numbers)
                (early, sent), (false, also_sent), (known, _) = await hit(one), await hit(other), await hit(one)
                first, second, again, same = first + early, second + false, again + known, same + (sent == also_sent)
            rows.append([kind, most, first, second, again, same])

    with ScriptedModel(reply) as server:
        endpoint = ModelEndpoint(server.base_url, None)
        await _in_flow(showing([real]), endpoint, "holo3-1-35b-a3b", True, work)
        await endpoint.close()
    columns = ("pairs differ in", "pairs", "hits, first", "hits, second", "hits, first again", "same JPEG bytes")
    table(
        "pairs of screens; hits should be none for the first, none for the second, all for the first again",
        columns,
        rows,
    )
    print(f"  a cached decision takes {statistics.median(reused_s) * 1000:.1f} ms")


def _digit_apart(real: Frame, numbers: random.Random) -> tuple[Frame, Frame]:
    """Write a number at a random position of a real screen, and the same with one digit changed."""
    from PIL import Image, ImageDraw, ImageFont

    width, height = real.size.width, real.size.height
    digits = [numbers.randrange(10) for _ in range(numbers.randint(4, 9))]
    changed = list(digits)
    place = numbers.randrange(len(digits))
    changed[place] = (digits[place] + numbers.randint(1, 9)) % 10
    font = ImageFont.truetype(FONT, numbers.randint(9, 18))
    at = numbers.randrange(width - 160), numbers.randrange(height - 30)
    frames = []
    for shown in (digits, changed):
        picture = Image.frombytes("RGB", (width, height), real.rgb)
        ImageDraw.Draw(picture).text(at, "".join(map(str, shown)), fill="black", font=font)
        frames.append(replace(real, rgb=picture.tobytes()))
    return frames[0], frames[1]


def _pixel_apart(real: Frame, numbers: random.Random) -> tuple[Frame, Frame]:
    """Write a number on a real screen, and make one pixel one level brighter, invisibly."""
    first, _ = _digit_apart(real, numbers)
    pixels = bytearray(first.rgb)
    place = numbers.randrange(len(pixels))
    pixels[place] ^= 1
    return first, replace(first, rgb=bytes(pixels))


if __name__ == "__main__":
    sys.exit(main())
