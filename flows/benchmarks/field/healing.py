"""Heal a playbook after a drift: the oracle does the step that did not fit, and its proposals are accepted.

Then another item is replayed with the changed playbook and without a model, with the drift and without it.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.field.drifts import call_that_clears
from benchmarks.field.oracle import StepOracle, serving
from benchmarks.field.program import Program
from benchmarks.field.results import Result
from benchmarks.field.work import PATIENCE_S, as_result, judged, keep_screen, opened, replayed, work
from holo_tasks.audit import open_trace
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import ActionDone, Decided, Event
from holo_tasks.healing.decide import decide
from holo_tasks.healing.decide import opened as open_proposals
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.scripts.playbook import load_playbook

WORD = re.compile(r"\w+")


async def healed(program: Program, folder: Path, trace: str, drift: str, number: int) -> Result:
    """Do the item that was handed over, with the model behind the playbook, and accept the proposals of the library."""
    playbook, item = changed_playbook(folder, drift), program.items[number]
    shutil.rmtree(HealingFolder(playbook).path, ignore_errors=True)
    shutil.copy(folder / "made.yaml", playbook)
    steps = plan_of_steps(playbook, trace)
    async with opened(program, folder / f"heal-{drift}-{number}".replace(" ", "-"), drift) as place:
        loop, desktop = asyncio.get_running_loop(), place.desktop

        def look() -> ElementTree:
            return asyncio.run_coroutine_threadsafe(desktop.elements(), loop).result(PATIENCE_S)

        clears = call_that_clears(desktop, drift)
        oracle = StepOracle(program.plan(item), look, desktop.size, steps, clears)
        with serving(oracle) as base_url:
            ended = await work(place, folder, base_url, item, playbook, heal=True)
        verdict, why = await judged(place, item, ended)
        if verdict != "right":
            await keep_screen(desktop, place.folder)
    changes, lacking = _accepted(playbook) if verdict == "right" else ((), "")
    told = as_result(program, "heal", drift, number, verdict, why or lacking, ended)
    return told.model_copy(update={"calls": oracle.calls, "changes": changes})


async def replayed_healed(program: Program, folder: Path, drift: str, number: int) -> tuple[Result, Result]:
    """Replay the next item with the changed playbook and without a model: with the drift, and without it."""
    playbook, following = changed_playbook(folder, drift), 1 + number % (len(program.items) - 1)
    there = await replayed(program, folder, playbook, drift, following, "replay healed")
    back = await replayed(program, folder, playbook, "none", following, "replay healed unchanged")
    return there, back.model_copy(update={"drift": drift})


def changed_playbook(folder: Path, drift: str) -> Path:
    """Return the file of the playbook that is healed after a drift."""
    return folder / f"healed-{drift.replace(' ', '-')}.yaml"


def _accepted(playbook: Path) -> tuple[tuple[str, ...], str]:
    """Accept all proposals, as a person would who saw that the item is right. Returns them, and the reason for a
    refusal."""
    folder, refused = HealingFolder(playbook), ""
    accepted: list[str] = []
    for one in open_proposals(folder).values():
        try:
            decide(folder, one.id, "applied", by="benchmark")
        except InvalidUsage as error:
            refused = " ".join(str(error).split())
            continue
        sure = "verified" if one.verified else "for a person to decide"
        accepted.append(f"{' '.join(line.strip() for line in one.diff)} ({sure})")
    return tuple(accepted), refused or ("" if accepted else "the model did the step, and no change was proposed")


def plan_of_steps(playbook: Path, trace: str) -> dict[str, int]:
    """Return the place in the oracle's plan of each step of a playbook, by the step's words.

    The playbook was made of the oracle's run, so both lists are in the same order. The playbook may lack some steps.
    """
    told = done_calls(one.event for one in open_trace(trace).records())
    actions = [rule.do[0] for rule in reversed(load_playbook(playbook).goals["work"].rules_of_steps)]
    wanted = [(each.kind, each.thought) for each in actions]
    return {wanted[step][1]: place for step, place in aligned(wanted, told)}


def done_calls(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Return the calls that were carried out, and the answer: kind and words of each. A withheld call comes again."""
    done: list[tuple[str, str]] = []
    last: Decided | None = None
    for event in events:
        if isinstance(event, Decided):
            last = None if event.tool_name == "wait" else event
        elif isinstance(event, ActionDone) and last is not None:
            done.append((last.tool_name, last.thought))
            last = None
    return done if last is None else [*done, (last.tool_name, last.thought)]


def aligned(wanted: Sequence[tuple[str, str]], told: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """Return pairs of places in two lists of actions with their words, in order: as many and as like as possible."""
    best: list[list[tuple[float, list[tuple[int, int]]]]] = [[(0.0, [])] * (len(told) + 1)]
    for step, one in enumerate(wanted):
        row: list[tuple[float, list[tuple[int, int]]]] = [(0.0, [])]
        for place, other in enumerate(told):
            score, pairs = best[step][place]
            like = _likeness(one, other)
            both = (score + like, [*pairs, (step, place)] if like else pairs)
            row.append(max(both, best[step][place + 1], row[place], key=lambda each: each[0]))
        best.append(row)
    return best[-1][-1][1]


def _likeness(one: tuple[str, str], other: tuple[str, str]) -> float:
    """Return how alike two actions are: 0 for different kinds, else 1 or more, and less than 2."""
    if one[0] != other[0]:
        return 0.0
    words, others = (set(WORD.findall(each[1].casefold())) for each in (one, other))
    return 1 + len(words & others) / (1 + len(words | others))


def needs_healing(done: dict[tuple[str, str, str, int], Result], program: str) -> list[tuple[str, int]]:
    """Return the drifts of a program after which a replay was handed over, with the item."""
    found = [one for one in done.values() if one.program == program and one.kind == "replay" and one.drift != "none"]
    return [(one.drift, one.item) for one in found if one.verdict == "handed over"]
