"""Runs of one program of the field suite: by the model, through the compiler, and replays under drifts."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.field.drifts import SMALLER, apply_drift
from benchmarks.field.oracle import Oracle, serving
from benchmarks.field.program import SIZE, Program, Records, Values
from benchmarks.field.results import Kind, Result, Verdict
from holo_tasks import HoloError, pursue, subgoal
from holo_tasks.agent.open_agent import open_agent
from holo_tasks.audit import Destination, open_trace
from holo_tasks.cli.compile import compile_traces
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.events import SubgoalClosed
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.run.run_options import RunOptions
from holo_tasks.scripts.playbook import ListStep, Loop, load_playbook
from holo_tasks.scripts.script import Script

PATIENCE_S, TIME_S = 60.0, 240.0
LATE_S = 1.5
"""Seconds before the judge reads the file, for one that is still being written."""
CLOCK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Place:
    """A program of one item on its desktop."""

    program: Program
    folder: Path
    desktop: VirtualDesktop
    before: Records


@dataclass(frozen=True)
class Ended:
    """End of an agent's work, before the judge looks. ``status`` is "answered" or the name of the error."""

    status: str
    why: str
    trace: str
    steps: int
    seconds: float
    cpu_s: float


@asynccontextmanager
async def opened(program: Program, folder: Path, drift: str) -> AsyncIterator[Place]:
    """Start a program in a new folder, and wait for the control with which its task begins."""
    if folder.exists():
        shutil.rmtree(folder)  # left by a run that was stopped
    folder.mkdir(parents=True)
    started = program.prepare(folder, drift)
    home = {"HOME": str(folder), "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}
    with _served(started.server, started.url, home):
        async with VirtualDesktop(
            size=SMALLER if drift == "smaller screen" else SIZE,
            app=list(started.command),
            env={**home, **started.environment},
            app_timeout_s=PATIENCE_S,
        ) as desktop:
            end = time.monotonic() + PATIENCE_S
            while not program.is_ready(await desktop.elements()):
                if time.monotonic() > end:
                    await keep_screen(desktop, folder)
                    raise TimeoutError(f"its first control is not there after {PATIENCE_S:.0f} s")
                await asyncio.sleep(0.3)  # between two readings of the tree
            before = program.records(folder)
            async with apply_drift(desktop, drift):
                yield Place(program, folder, desktop, before)


@contextmanager
def _served(command: object, url: str, environment: dict[str, str]) -> Iterator[None]:
    """Run a server until the program has ended."""
    if not url:
        yield
        return
    assert isinstance(command, list | tuple)
    log = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        end = time.monotonic() + PATIENCE_S
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server {command[0]} does not answer at {url}")
            time.sleep(0.2)  # between two requests
        yield
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


async def run_by_model(program: Program, folder: Path) -> tuple[Result, str]:
    """Let the oracle do the first item as the model; return the result and the trace."""
    item = program.items[0]
    plan = program.plan(item)
    async with opened(program, folder / "place", "none") as place:
        loop, desktop = asyncio.get_running_loop(), place.desktop

        def look() -> ElementTree:
            return asyncio.run_coroutine_threadsafe(desktop.elements(), loop).result(PATIENCE_S)

        oracle = Oracle(plan, look, desktop.size)
        with serving(oracle) as base_url:
            ended = await work(place, folder, base_url, item, None)
        verdict, why = await judged(place, item, ended)
        if verdict != "right":
            await keep_screen(desktop, folder)
    return as_result(program, "model", "none", 0, verdict, why, ended).model_copy(
        update={"calls": oracle.calls, "fewest": len(plan)}
    ), ended.trace


def compiled(program: Program, folder: Path, trace: str) -> Result:
    """Compile the run of the model, and return the number of steps and those that are left to the model."""
    file, began = folder / "made.yaml", time.monotonic()
    try:
        compile_traces([trace], file, "work", (), None, folder / "holo", as_json=False)
    except HoloError as error:
        return Result(program=program.name, kind="compile", verdict="failed", why=" ".join(str(error).split()))
    steps = load_playbook(file).goals["work"].steps
    left, took = by_model(steps), round(time.monotonic() - began, 2)
    return Result(program=program.name, kind="compile", verdict="right", calls=len(steps), by_model=left, seconds=took)


def by_model(steps: Sequence[ListStep | Loop]) -> tuple[str, ...]:
    """Return the steps of a playbook that need the model, with the reasons."""
    single = [one for step in steps for one in (step.steps if isinstance(step, Loop) else (step,))]
    return tuple(f"step {n} takes the model: {one.why}" for n, one in enumerate(single, 1) if one.by_model)


async def replayed(
    program: Program, folder: Path, playbook: Path, drift: str, number: int, kind: Kind = "replay"
) -> Result:
    """Replay the playbook for another item without a model."""
    item = program.items[number]
    name = f"{kind}-{drift}-{number}".replace(" ", "-")
    async with opened(program, folder / name, drift) as place:
        ended = await work(place, folder, "http://127.0.0.1:9/v1", item, playbook)
        verdict, why = await judged(place, item, ended)
        if verdict != "right":
            await keep_screen(place.desktop, place.folder)
    return as_result(program, kind, drift, number, verdict, why, ended)


async def work(
    place: Place, folder: Path, base_url: str, item: Values, playbook: Path | None, *, heal: bool = False
) -> Ended:
    """Have an agent of the library do an item: by the model, or by a playbook, with the model behind it to ``heal``."""
    layers: list[Script | Literal["model"]] = ["model"] if playbook is None or heal else []
    if playbook is not None:
        script = Script(playbook, **_known(playbook, item))
        layers.insert(0, script.healing("propose") if heal else script)

    @subgoal(layers=layers, effect=None)
    async def task() -> str:
        said: str = await pursue(place.program.task, data=dict(item))
        return said

    endpoint = ModelEndpoint(base_url, None)
    status, why, trace = "answered", "", ""
    try:
        async with open_agent(
            title=f"field {place.program.name}",
            desktop=place.desktop,
            endpoint=endpoint,
            profile=profile_for("rehearsal"),
            destination=Destination.parse(str(folder / "runs")),
            home=folder / "holo",
            options=RunOptions(allow="act", max_steps=60),
        ) as run:
            trace = run.trace
            began, cpu = time.monotonic(), _cpu_s(place.desktop)
            try:
                async with asyncio.timeout(TIME_S):
                    why = str(await task())
            except HoloError as error:
                status, why = error.status, " ".join(str(error).split())
            except TimeoutError:
                status, why = "limit", f"still at work after {TIME_S:.0f} s"
            seconds, cpu_s = time.monotonic() - began, _cpu_s(place.desktop) - cpu
    finally:
        await endpoint.close()
    closed = [one.event for one in open_trace(trace).records() if isinstance(one.event, SubgoalClosed)]
    return Ended(status, why, trace, sum(one.steps for one in closed), seconds, cpu_s)


def _known(playbook: Path, item: Values) -> dict[str, str]:
    """Return the values of an item that the playbook has as parameters."""
    goal = load_playbook(playbook).goals["work"]
    return {name: value for name, value in item.items() if name in goal.params or name in goal.values}


def _cpu_s(desktop: VirtualDesktop) -> float:
    """Return the CPU time of this process and of the desktop's host."""
    fields = Path(f"/proc/{desktop.pid}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / CLOCK


async def judged_without_answer(place: Place, item: Values) -> tuple[Verdict, str]:
    """Judge the work of a person, who gives no answer."""
    return await judged(place, item, Ended("answered", "", "", 0, 0.0, 0.0))


async def judged(place: Place, item: Values, ended: Ended) -> tuple[Verdict, str]:
    """Judge by the program's own file: exactly the wanted records, and no other change."""
    await asyncio.sleep(LATE_S)
    found = sorted(place.program.records(place.folder))
    wanted, before = sorted(place.program.expected(place.before, item)), sorted(place.before)
    holds = f"the file has {[one for one in found if one not in before]}, and wanted are " + str(
        [one for one in wanted if one not in before]
    )
    if ended.status == "answered":
        return ("right", "") if found == wanted else ("silently wrong", f"{holds}; it answered {ended.why!r}")
    return ("handed over" if found in (before, wanted) else "harm"), f"{ended.status}: {ended.why}; {holds}"[:900]


def as_result(program: Program, kind: Kind, drift: str, item: int, verdict: Verdict, why: str, ended: Ended) -> Result:
    """Return the result of a run that was judged."""
    return Result(
        program=program.name,
        kind=kind,
        drift=drift,
        item=item,
        verdict=verdict,
        why=why,
        steps=ended.steps,
        seconds=round(ended.seconds, 2),
        cpu_s=round(ended.cpu_s, 2),
    )


async def keep_screen(desktop: VirtualDesktop, folder: Path) -> None:
    """Write the elements of the screen as text, so that a person can see why a run stopped."""
    tree = await desktop.elements()
    lines = [
        f"{one.id} {one.parent} {one.role} {one.name!r} {one.value[:60]!r} {one.box}"
        for one in tree.elements
        if one.on_screen
    ]
    (folder / "screen.txt").write_text("\n".join([*lines, tree.why_not]), encoding="utf-8")
