"""Results of the field suite: one line of JSON for each run, and the Markdown table of all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Kind: TypeAlias = Literal[
    "model",
    "compile",
    "replay",
    "by hand",
    "replay by hand",
    "heal",
    "replay healed",
    "replay healed unchanged",
]
Verdict: TypeAlias = Literal["right", "handed over", "silently wrong", "harm", "failed"]
"""“Harm” is a run that was handed over after an unwanted effect; “failed” is a program that did not start."""


class Result(BaseModel):
    """One run: of the model, of the compiler, of a person, or a replay of an item under a drift."""

    model_config = ConfigDict(frozen=True)

    program: str
    kind: Kind
    drift: str = "none"
    item: int = 0
    verdict: Verdict
    why: str = ""
    calls: int = 0
    """Calls of the model; for a compiled playbook, its steps."""
    fewest: int = 0
    by_model: tuple[str, ...] = ()
    """The steps of the playbook that need the model, with the reasons."""
    changes: tuple[str, ...] = ()
    """The changes of the playbook that the library proposed and that were accepted."""
    steps: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.program, self.kind, self.drift, self.item


class Shelf:
    """The file of the results. A later start continues after the last line."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "field.jsonl"

    def read(self) -> dict[tuple[str, str, str, int], Result]:
        if not self.path.exists():
            return {}
        lines = self.path.read_text(encoding="utf-8").splitlines()
        every = [Result.model_validate(json.loads(line)) for line in lines if line]
        return {one.key: one for one in every}

    def keep(self, one: Result) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(one.model_dump_json() + "\n")


HEADINGS = (
    "program",
    "run by the model",
    "compiled",
    "other items, model off",
    "under drift, model off",
    "healed",
    "recorded by hand",
    "replayed from that",
    "silently wrong",
    "seconds a step",
    "CPU a step",
)


def markdown(results: Sequence[Result], titles: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the table, and then the reason for each run that is not right."""
    yield f"| {' | '.join(HEADINGS)} |"
    yield f"|{'---|' * len(HEADINGS)}"
    for name, title in titles.items():
        own = [one for one in results if one.program == name]
        if own:
            yield f"| {' | '.join([title, *_cells(own)])} |"
    yield ""
    for one in results:
        if one.verdict != "right" and one.program in titles:
            where = f"{titles[one.program]}, {one.kind} of item {one.item}, drift {one.drift}"
            yield f"* {where}: {one.verdict}: {one.why[:300]}"
        if one.kind == "heal" and one.verdict == "right":
            where = f"{titles.get(one.program, one.program)}, healed after the drift {one.drift}"
            yield f"* {where}: {'; '.join(one.changes) or one.why}"
        for step in one.by_model:
            yield f"* {titles.get(one.program, one.program)}: {step}"


def _cells(own: Sequence[Result]) -> list[str]:
    model = [one for one in own if one.kind == "model"]
    made = [one for one in own if one.kind == "compile"]
    replays = [one for one in own if one.kind == "replay"]
    timed = [one for one in replays if one.steps and one.verdict == "right"]
    wrong = sum(one.verdict in ("silently wrong", "harm") for one in own)
    return [
        ", ".join(f"{one.verdict}, {one.calls} calls for {one.fewest}" for one in model) or "–",
        ", ".join(_compiled(one) for one in made) or "–",
        _counted([one for one in replays if one.drift == "none"]),
        _counted([one for one in replays if one.drift != "none"]),
        _healed(own),
        ", ".join(_compiled(one) for one in own if one.kind == "by hand") or "–",
        _counted([one for one in own if one.kind == "replay by hand"]),
        str(wrong),
        f"{median(one.seconds / one.steps for one in timed):.2f}" if timed else "–",
        f"{median(one.cpu_s / one.steps for one in timed):.2f} s" if timed else "–",
    ]


def _compiled(one: Result) -> str:
    return f"{one.calls} steps, {len(one.by_model)} by the model" if one.verdict == "right" else one.verdict


def _healed(own: Sequence[Result]) -> str:
    """Return of how many drifts that were handed over the changed playbook does another item, and without the drift."""
    tried = [one.drift for one in own if one.kind == "heal"]
    if not tried:
        return "–"
    right = {(one.kind, one.drift) for one in own if one.verdict == "right"}
    done, there, back = (
        sum((kind, drift) in right for drift in tried) for kind in ("heal", "replay healed", "replay healed unchanged")
    )
    return f"{done} of {len(tried)} done with the model, then {there} without it, {back} unchanged"


def _counted(replays: Sequence[Result]) -> str:
    if not replays:
        return "–"
    right = sum(one.verdict == "right" for one in replays)
    stopped = sum(one.verdict == "handed over" for one in replays)
    others = len(replays) - right - stopped
    words = [f"{right} of {len(replays)} right"]
    words += [f"{stopped} handed over"] * (stopped > 0) + [f"{others} wrong or failed"] * (others > 0)
    return ", ".join(words)
