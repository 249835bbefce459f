"""Runs of the program of orders: recorded with the rehearsal model, compiled, and replayed without it.

There is no Prefect in it: what is measured is compiling and replaying, on real desktops and through the usual doors.
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
RECORDED = (("AB-1207", "ring the bell twice"), ("CD-3391", "leave at the gate"))
ASKED = ("EF-5050", "two boxes of glass")
MOST_STEPS = 40


@dataclass(frozen=True)
class Replayed:
    """What came of one replay: what the program says was done, the answer, or why there was none, and each step."""

    done: list[dict[str, str]]
    answer: Any = None
    why: str = ""
    seconds: float = 0.0
    steps: list[float] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """Return whether it passed, stopped, or did or said something wrong."""
        return self.judged(*ASKED)

    def judged(self, order: str, note: str) -> str:
        """Judge by the program's own file: all that was done for good is that this note is on this order, once."""
        right = [{"saved": order, "note": note}]
        if self.answer is None:
            return "stopped" if self.done in ([], right) else "WRONG"
        return "passed" if self.done == right and self.answer == answer_for(order) else "WRONG"


def answer_for(order: str) -> dict[str, Any]:
    """Return what is to be answered of an order."""
    from records import FIRST_RECEIPT, ORDERS

    customer, total, _ = ORDERS[order]
    number = FIRST_RECEIPT + list(ORDERS).index(order)
    return {"customer": customer, "total": total.replace(",", ""), "receipt": number}


def program(toolkit: str, state: Path, drift: str) -> str:
    """Return the command that starts the program of orders."""
    from tk_python import tk_python

    python = {"tk": tk_python(), "gtk3": "/usr/bin/python3", "qt": sys.executable}[toolkit]
    return shlex.join([python, str(APPS / f"records_{toolkit}.py"), str(state), "--drift", drift])


@asynccontextmanager
async def desk(toolkit: str, state: Path, drift: str = "none") -> AsyncIterator[VirtualDesktop]:
    """Start the program of orders on a desktop of its own; what it does for good goes to ``state``."""
    from holo_tasks.core.geometry import Size
    from holo_tasks.desktop import VirtualDesktop

    state.touch()
    async with VirtualDesktop(
        size=Size(1100, 780), app=program(toolkit, state, drift), app_timeout_s=60, env={"PYTHONPATH": str(APPS)}
    ) as desktop:
        yield desktop


@contextmanager
def rehearsal_model(latency_s: float = 0.0) -> Iterator[str]:
    """Serve what the rehearsal model knows of the program over HTTP, in a thread; gives the address."""
    from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
    from holo_tasks.scripts.playbook import load_playbook

    server = RehearsalServer(Rehearsal(load_playbook(APPS / "records.playbook.yaml")), latency_s=latency_s)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.base_url
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class Recorded:
    """A run of the model: its trace, and what it took from the first look to the answer."""

    trace: str
    seconds: float
    calls: int
    micro_usd: int


async def record(toolkit: str, folder: Path, base_url: str, order: str, note: str) -> Recorded:
    """Have the model do it once, as a run with evidence."""
    from holo_tasks.audit import Destination
    from holo_tasks.core import events
    from holo_tasks.core.outside import quoted
    from holo_tasks.models.build_model import model_at
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.models.profile import profile_for

    folder.mkdir(exist_ok=True)
    endpoint = ModelEndpoint(base_url, None)
    name = f"20261123-000000-{order.casefold().replace('-', '')}-{toolkit}"
    recorder = Destination.parse(str(folder / "runs")).open(name, home=folder)
    goal = f"{GOAL}\n\n{quoted({'order': order, 'note': note})}"
    state = folder / f"recorded-{toolkit}-{order}.jsonl"
    try:
        async with desk(toolkit, state) as desktop:
            model = model_at(endpoint, profile_for("rehearsal"))
            walk = walk_on(desktop, recorder, goal, model)
            await recorder.record(
                events.RunOpened(run_id=name, title=GOAL, library="bench", signed_by=recorder.fingerprint)
            )
            await walk.record(events.SubgoalOpened(title=GOAL, goal=goal))
            began = time.monotonic()
            answer = await _pursued(walk, walk.decide, "model")
            took_s = time.monotonic() - began
            ended: dict[str, Any] = {"status": "answered", "answer": answer, "steps": walk.step, "cost_micro_usd": 0}
            await walk.record(events.SubgoalClosed(layer="model", **ended))
            await recorder.record(events.RunClosed(**ended))
    finally:
        await endpoint.close()
        await recorder.close()
    assert json.loads(answer) == answer_for(order), answer
    return Recorded(recorder.uri, took_s, walk.step, walk.guard.spent_micro)


def walk_on(desktop: VirtualDesktop, recorder: Any, goal: str, model: Any = None) -> Walk:
    """Return a walk that may act, with what a run has around it but Prefect."""
    from holo_tasks.core.budget import Guard, Limits
    from holo_tasks.core.transcript import Transcript
    from holo_tasks.loop.doors import Doors
    from holo_tasks.loop.element_tree import Elements
    from holo_tasks.loop.walk import Walk
    from holo_tasks.models.encoding import ENCODERS
    from holo_tasks.safety.policy import Rules
    from holo_tasks.safety.redaction import NothingToRedact

    doors = Doors(
        desktop=desktop,
        redactor=NothingToRedact(),
        encoder=ENCODERS["default"],
        model=model,
        policy=Rules(trust="act"),
        recorder=recorder,
        now_s=time.monotonic,
        elements=Elements(desktop),
    )
    return Walk(doors, Guard("The benchmark", Limits(), started_s=time.monotonic()), 1, Transcript(goal))


async def compiled(toolkit: str, folder: Path, base_url: str, runs: int = len(RECORDED)) -> Playbook:
    """Return the playbook of a toolkit's program, made of so many runs of the model."""
    recorded = [await record(toolkit, folder, base_url, *item) for item in RECORDED[:runs]]
    return await of_runs(toolkit, folder, [one.trace for one in recorded])


async def of_runs(toolkit: str, folder: Path, traces: Sequence[str]) -> Playbook:
    """Return the playbook that some runs are compiled into."""
    from holo_tasks.cli.compile import compile_traces
    from holo_tasks.scripts.playbook import load_playbook

    out = folder / f"{toolkit}.playbook.yaml"
    await asyncio.to_thread(compile_traces, traces, out, "put-a-note", (), None, folder, as_json=False)
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
    """Do it once by the playbook alone, as ``--playbook-only`` does."""
    from holo_tasks.core.errors import HoloError
    from holo_tasks.scripts.script import Script

    recorder = Unrecorded()
    walk = walk_on(desktop, recorder, GOAL)
    walk.doors = replace(walk.doors, journal=journal)
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
        last=layer == "model",
    )
    return answered.text
