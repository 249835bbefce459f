"""Work on one episode: a desktop and a model of its own, one of the three arms, and the judge."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.erring import office
from benchmarks.erring.episodes import NASTY, PAGES, Arm, Episode, Made
from benchmarks.erring.errors import Call
from benchmarks.erring.forms import LedgerFlag, entry
from benchmarks.erring.guards import SCREEN_CHANGED, calls_of, money_of
from benchmarks.erring.model import Answered, ErringModel, erring_model
from benchmarks.erring.pages import page
from benchmarks.erring.place import Place, Verdict, fresh
from benchmarks.ledger import Ledger
from benchmarks.miniwob import MiniWob
from holo_tasks import HoloError
from holo_tasks.agent.open_agent import open_agent
from holo_tasks.audit import Destination, open_trace
from holo_tasks.core.limits.money import Usage
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.run.run_options import RunOptions

NAIVE = Path(__file__).with_name("naive.py")
STEPS, TIME_S = 45, 900.0
PROFILE = profile_for("rehearsal")
PLACES: Mapping[str, Callable[[int, Path], Place]] = {
    "ledger": LedgerFlag,
    **{kind: entry(kind) for kind in NASTY},
    **{task: page(task) for task in PAGES},
    **office.PLACES,
}


def missing(task: str) -> str:
    """Return the reason why a task cannot be done on this machine; empty if it can."""
    if task in office.PLACES:
        return office.PLACES[task].missing()
    return MiniWob().missing() if task in PAGES else Ledger().missing()


@dataclass
class Ended:
    """End of the work on an episode, before the judge looks."""

    status: str
    reason: str = ""
    calls: int = 0
    actions: int = 0
    micro_usd: int = 0
    guards: dict[int, str] = field(default_factory=dict)
    """The guard that withheld a step, by the number of the call."""
    reasons: dict[int, str] = field(default_factory=dict)
    reported: dict[int, str] = field(default_factory=dict)
    """The guard that reported a difference after the step, by the number of the call."""
    other_windows: set[int] = field(default_factory=set)
    """The numbers of the calls after which a window had come or gone."""
    trace: str = ""
    lines: tuple[bytes, ...] = field(default=(), repr=False)
    """Lines of the trace."""


async def run_episode(arm: Arm, rate: float, task: str, seed: int, folder: Path, traces: Path | None = None) -> Episode:
    """Work on an episode from the start of its program to its judgement.

    ``traces`` is the folder for the traces of episodes with an error, a refusal or a wrong outcome.
    """
    if folder.exists():
        shutil.rmtree(folder)  # left by a run that was stopped
    began = time.monotonic()
    place = PLACES[task](seed, folder)
    started = place.started
    desktop = await VirtualDesktop.start(
        size=started.size, app=list(started.command), env=dict(started.environment), secrets=dict(started.secrets)
    )
    try:
        await place.ready(desktop)
        with erring_model(place, task, seed, rate) as (model, base_url):
            if arm == "naive":
                ended = await _naively(desktop, place, base_url)
            else:
                ended = await _by_library(arm, desktop, place, base_url, folder)
        verdict = await place.judged()
    finally:
        await desktop.close()
    return Episode(
        arm=arm,
        rate=rate,
        task=task,
        seed=seed,
        status=ended.status,
        reason=ended.reason[:300],
        right=verdict.right,
        wrong=verdict.wrong,
        calls=ended.calls,
        asked=len(model.log),
        actions=ended.actions,
        micro_usd=ended.micro_usd,
        seconds=round(time.monotonic() - began, 2),
        errors=tuple(_made(one, ended) for one in model.log if one.kind),
        needless=needless_of(model, ended),
        refusals=tuple(
            f"{number}: {ended.guards[number]}: {ended.reasons[number]}" for number in _needless(model, ended)
        ),
        trace=_keep_trace(ended, model, verdict, traces or folder),
    )


def _keep_trace(ended: Ended, model: ErringModel, verdict: Verdict, traces: Path) -> str:
    """Store the trace of an episode without its pictures, and return its name.

    Returns an empty string if the model made no error, the task is right and no step was withheld.
    """
    usual = verdict.right and ended.status == "answered" and not ended.guards
    if not ended.lines or (usual and not any(one.kind for one in model.log)):
        return ""
    name = f"{model.task}-{model.seed}-{model.rate:g}-{time.time_ns() // 1_000_000}.jsonl"
    (fresh(traces) / name).write_bytes(b"\n".join(line.rstrip() for line in ended.lines))
    return name


def _made(one: Answered, ended: Ended) -> Made:
    return Made(
        number=one.number,
        kind=one.kind,
        guard=ended.guards.get(one.number, ""),
        reason=ended.reasons.get(one.number, ""),
        reported=ended.reported.get(one.number, ""),
        meant=_in_short(one.meant),
        given=_in_short(one.given),
    )


def _in_short(call: Call) -> str:
    shown = {name: value for name, value in call.items() if name not in ("tool_name", "clears")}
    return f"{call['tool_name']} {json.dumps(shown, ensure_ascii=False)}"[:160]


def needless_of(model: ErringModel, ended: Ended) -> dict[str, int]:
    """Count the right steps that were withheld without need, by guard.

    There was need if the program had moved its controls by the next call. A step that was withheld since the screen had
    changed was needed also if a window came or went, or if the model's picture had another thing at the point.
    """
    return dict(Counter(ended.guards[number] for number in _needless(model, ended)))


def _needless(model: ErringModel, ended: Ended) -> list[int]:
    """Return the numbers of the calls whose right steps were withheld without need."""
    erred = {one.number for one in model.log if one.kind}
    right = [number for number in ended.guards if number not in erred and model.stayed(number)]
    return [
        number
        for number in right
        if ended.guards[number] != SCREEN_CHANGED or not (number in ended.other_windows or model.showed_another(number))
    ]


async def _naively(desktop: VirtualDesktop, place: Place, base_url: str) -> Ended:
    """Have the naive loop work in a process of its own, as pyautogui knows one display only."""
    environment = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(NAIVE), "--base-url", base_url, "--steps", str(STEPS)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        async with asyncio.timeout(TIME_S):
            out, err = await process.communicate(place.goal_with_password.encode())
    except TimeoutError:
        process.kill()
        await process.wait()
        return Ended("limit", f"still at work after {TIME_S:.0f} s")
    if process.returncode:
        return Ended("error", " ".join(err.decode(errors="replace").split())[-300:])
    result: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    price = PROFILE.price.price() if PROFILE.price else None
    bill = price.of(Usage(result["prompt_tokens"], result["completion_tokens"])) if price else 0
    calls = result["calls"]
    return Ended(result["status"], result["said"] if result["status"] != "answered" else "", calls, calls, bill)


async def _by_library(arm: Arm, desktop: VirtualDesktop, place: Place, base_url: str, folder: Path) -> Ended:
    """Have an agent of the library work, and read its trace."""
    endpoint = ModelEndpoint(base_url, None)
    status, reason, trace = "answered", "", ""
    try:
        async with open_agent(
            title=f"erring {arm}",
            desktop=desktop,
            endpoint=endpoint,
            profile=PROFILE,
            destination=Destination.parse(str(folder / "runs")),
            home=folder / "holo",
            options=RunOptions(allow="act", max_steps=STEPS),
        ) as run:
            trace = run.trace
            try:
                async with asyncio.timeout(TIME_S):
                    await place.run_agent(arm)
            except HoloError as error:
                status, reason = error.status, " ".join(str(error).split())
            except TimeoutError:
                status, reason = "limit", f"still at work after {TIME_S:.0f} s"
    finally:
        await endpoint.close()
    lines = tuple(await asyncio.to_thread(lambda: list(open_trace(trace).lines())))
    every = [record.event for record in await asyncio.to_thread(lambda: list(open_trace(trace).records()))]
    calls = calls_of(every)
    guards = {number: one.guard for number, one in enumerate(calls) if one.guard}
    reasons = {number: calls[number].reasons[0][:200] for number in guards}
    reported = {number: one.reported for number, one in enumerate(calls) if one.reported}
    others = {number for number, one in enumerate(calls) if one.has_other_windows}
    actions = sum(one.sent for one in calls) + len(guards)
    bill = money_of(every)
    return Ended(status, reason, len(calls), actions, bill, guards, reasons, reported, others, trace, lines)
