"""Runs of the program of orders: recorded with the rehearsal model, compiled, and replayed without it.

Prefect is not involved: the subject is compiling and replaying, on real desktops and through the usual doors.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import APPS, Unrecorded

if TYPE_CHECKING:
    from holo_tasks.core.ports import Journal
    from holo_tasks.desktop import VirtualDesktop
    from holo_tasks.loop.walk import Walk
    from holo_tasks.scripts.playbook import Playbook

TOOLKITS = ("tk", "gtk3", "qt")
GOAL = "Put the note on the order, save it once, and answer with the customer, the total and the receipt's number."
LOOK = "Look whether the order has just one note. Answer done if so, and else say what it has."
PUT, LOOKED = "Put a note", "Is noted"
"""Names of the two goals in runs with both."""
RECORDED = (("AB-1207", "ring the bell twice"), ("CD-3391", "leave at the gate"))
ASKED = ("EF-5050", "two boxes of glass")
MOST_STEPS = 40


@dataclass(frozen=True)
class Replayed:
    """The result of one replay: the effects in the program's file, the answer or the reason for its absence, and the
    steps' times.
    """

    done: list[dict[str, str]]
    answer: Any = None
    why: str = ""
    seconds: float = 0.0
    steps: list[float] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """Return ‘passed’, ‘stopped’, or ‘WRONG’ for a wrong effect or answer."""
        return self.judged(*ASKED)

    def judged(self, order: str, note: str) -> str:
        """Judge by the program's own file: the only effect must be this note on this order, once."""
        right = [{"saved": order, "note": note}]
        if self.answer is None:
            return "stopped" if self.done in ([], right) else "WRONG"
        return "passed" if self.done == right and self.answer == answer_for(order) else "WRONG"


def answer_for(order: str) -> dict[str, Any]:
    """Return the expected answer for an order."""
    from records import FIRST_RECEIPT, ORDERS

    customer, total, _ = ORDERS[order]
    number = FIRST_RECEIPT + list(ORDERS).index(order)
    return {"customer": customer, "total": total.replace(",", ""), "receipt": number}


def program(toolkit: str, state: Path, drift: str) -> str:
    """Return the command that starts the program of orders."""
    from holo_tasks.desktop import tk_python

    python = {"tk": tk_python(), "gtk3": "/usr/bin/python3", "qt": sys.executable}[toolkit]
    return shlex.join([python, str(APPS / f"records_{toolkit}.py"), str(state), "--drift", drift])


@asynccontextmanager
async def desk(toolkit: str, state: Path, drift: str = "none") -> AsyncIterator[VirtualDesktop]:
    """Start the program of orders on its own desktop; its permanent effects go to ``state``."""
    from holo_tasks.core.screen.geometry import Size
    from holo_tasks.desktop import VirtualDesktop

    state.touch()
    async with VirtualDesktop(
        size=Size(1100, 780), app=program(toolkit, state, drift), app_timeout_s=60, env={"PYTHONPATH": str(APPS)}
    ) as desktop:
        yield desktop


@contextmanager
def rehearsal_model(latency_s: float = 0.0) -> Iterator[str]:
    """Serve the rehearsal playbooks of the program over HTTP, in a thread; give the address."""
    from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
    from holo_tasks.scripts.playbook import load_playbook

    known, looking = (load_playbook(APPS / f"{name}.playbook.yaml") for name in ("records", "records_looking"))
    known = known.model_copy(update={"goals": {**known.goals, **looking.goals}})
    server = RehearsalServer(Rehearsal(known), latency_s=latency_s)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.base_url
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class Recorded:
    """A run of the model: its trace, and its figures from the first look to the answer."""

    trace: str
    seconds: float
    calls: int
    micro_usd: int


async def record(
    toolkit: str, folder: Path, base_url: str, order: str, note: str, goals: Sequence[str] = (PUT,)
) -> Recorded:
    """Let the model handle one order, as a run with evidence: put the note on it, check for the note, or both."""
    from holo_tasks.audit import Destination
    from holo_tasks.core import events
    from holo_tasks.models.client import ModelEndpoint

    folder.mkdir(exist_ok=True)
    endpoint = ModelEndpoint(base_url, None)
    name = "-".join(("20261123-000000", order, toolkit, *goals)).casefold().replace(" ", "-")
    recorder = Destination.parse(str(folder / "runs")).open(name, home=folder)
    walks: list[Walk] = []
    try:
        async with desk(toolkit, folder / f"{name}.jsonl") as desktop:
            await recorder.record(
                events.RunOpened(run_id=name, title=GOAL, library="bench", signed_by=recorder.fingerprint)
            )
            began = time.monotonic()
            for number, goal in enumerate(goals, start=1):
                told = {"order": order, "note": note} if goal == PUT else {"order": order}
                walk, answer = await _worked(desktop, recorder, endpoint, number, goal, told)
                walks.append(walk)
                if goal == PUT:
                    assert json.loads(answer) == answer_for(order), answer
                else:
                    assert (answer == "done") is (number > 1), answer
            took_s, steps = time.monotonic() - began, sum(one.step for one in walks)
            await recorder.record(events.RunClosed(status="answered", answer=answer, steps=steps, cost_micro_usd=0))
    finally:
        await endpoint.close()
        await recorder.close()
    return Recorded(recorder.uri, took_s, steps, sum(one.guard.spent_micro for one in walks))


async def _worked(
    desktop: VirtualDesktop, recorder: Any, endpoint: Any, number: int, title: str, told: dict[str, str]
) -> tuple[Walk, str]:
    """Let the model work on one goal of a run; return its walk and its answer."""
    from holo_tasks.core import events
    from holo_tasks.core.texts.outside_text import quoted
    from holo_tasks.models.build_model import model_at
    from holo_tasks.models.profile import profile_for

    goal = f"{GOAL if title == PUT else LOOK}\n\n{quoted(told)}"
    walk = walk_on(desktop, recorder, goal, model_at(endpoint, profile_for("rehearsal")), number)
    await walk.record(events.SubgoalOpened(title=title, goal=goal))
    answer = await _pursued(walk, walk.decide, "model")
    ended: dict[str, Any] = {"status": "answered", "answer": answer, "steps": walk.step, "cost_micro_usd": 0}
    await walk.record(events.SubgoalClosed(layer="model", **ended))
    return walk, answer


def walk_on(desktop: VirtualDesktop, recorder: Any, goal: str, model: Any = None, number: int = 1) -> Walk:
    """Return a walk that may act, with the surroundings of a run except Prefect."""
    from holo_tasks.core.limits.budget import Guard, Limits
    from holo_tasks.core.prompts.transcript import Transcript
    from holo_tasks.loop.element_tree import Elements
    from holo_tasks.loop.services import Services
    from holo_tasks.loop.walk import Walk
    from holo_tasks.models.encoding import ENCODERS
    from holo_tasks.safety.policy import Rules
    from holo_tasks.safety.redaction import NothingToRedact

    services = Services(
        desktop=desktop,
        redactor=NothingToRedact(),
        encoder=ENCODERS["default"],
        model=model,
        policy=Rules(trust="act"),
        recorder=recorder,
        now_s=time.monotonic,
        elements=Elements(desktop),
    )
    return Walk(services, Guard("The benchmark", Limits(), started_s=time.monotonic()), number, Transcript(goal))


async def compiled(toolkit: str, folder: Path, base_url: str, runs: int = len(RECORDED)) -> Playbook:
    """Return the playbook of a toolkit's program, compiled from a number of model runs."""
    recorded = [await record(toolkit, folder, base_url, *item) for item in RECORDED[:runs]]
    return await of_runs(toolkit, folder, [one.trace for one in recorded])


async def with_probe(toolkit: str, folder: Path) -> Path:
    """Return the file of a toolkit's playbook with a probe, both compiled.

    The sources are runs that put the note on an order and checked afterwards, and one that checked before.
    """
    with rehearsal_model() as base_url:
        both = [await record(toolkit, folder, base_url, *item, (PUT, LOOKED)) for item in RECORDED]
        before = await record(toolkit, folder, base_url, *RECORDED[0], (LOOKED,))
    traces = [one.trace for one in both]
    await of_runs(toolkit, folder, traces, [*traces, before.trace])
    return folder / f"{toolkit}.playbook.yaml"


async def of_runs(toolkit: str, folder: Path, traces: Sequence[str], probes: Sequence[str] = ()) -> Playbook:
    """Return the playbook compiled from some runs, with a probe compiled from others."""
    from holo_tasks.cli.compile import compile_traces
    from holo_tasks.scripts.playbook import load_playbook

    out = folder / f"{toolkit}.playbook.yaml"
    given = traces, out, "put-a-note", (), None, folder
    await asyncio.to_thread(compile_traces, *given, as_json=False, probes=probes)
    return load_playbook(out)


async def replay(
    playbook: Playbook,
    desktop: VirtualDesktop,
    state: Path,
    item: tuple[str, str] = ASKED,
    *,
    journal: Journal | None = None,
    max_steps: int = 120,
) -> Replayed:
    """Replay once by the playbook alone, as ``--playbook-only`` does."""
    from holo_tasks.core.errors import HoloError
    from holo_tasks.scripts.script import Script

    recorder = Unrecorded()
    walk = walk_on(desktop, recorder, GOAL)
    walk.services = replace(walk.services, journal=journal)
    brain = Script(playbook, "put-a-note", order=item[0], note=item[1]).brain()
    began, answer, why = time.monotonic(), None, ""
    try:
        answer = json.loads(await _pursued(walk, lambda: brain.decide(walk), "playbook", max_steps))
    except HoloError as error:
        why = f"{error.status}: {' '.join(str(error).split())}"
    finally:
        await brain.close()
    done = [json.loads(line) for line in state.read_text().splitlines()]
    timed = [event.total_us / 1e6 for event in recorder.events if event.kind == "step_timed"]
    return Replayed(done, answer, why, time.monotonic() - began, timed)


async def _pursued(walk: Walk, decide: Any, layer: str, max_steps: int = MOST_STEPS) -> str:
    from holo_tasks.loop import loop
    from holo_tasks.loop.executor import Executor

    answered = await loop.pursue(
        Executor(walk, lambda walk, step: walk.act(step), layer),
        read=str,
        decide=lambda walk, answer_only: decide(),
        max_steps=max_steps,
        is_last_layer=layer == "model",
    )
    return answered.text
