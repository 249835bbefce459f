"""Recordings of runs in memory, as if already read: without a trace, pictures or OCR."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.compiler.compile import Compiled, CompileSettings, _made_somehow
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.vision.screen_text import Line, Sight

SIZE = Size(720, 420)


@dataclass(frozen=True)
class Did:
    """An action on a screen, with its position if it has one."""

    on: Sight
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    at: Point | None = None


def screen(*texts: tuple[int, int, str], fields: Sequence[tuple[int, int, str]] = ()) -> Sight:
    """Return a screen with texts and fields, each given as left, top and text."""
    lines = [Line(text, Box(left, top, 9 * len(text), 18)) for left, top, text in texts]
    lines += [Line(text, Box(left + 6, top + 3, 9 * len(text), 18)) for left, top, text in fields if text]
    return Sight(tuple(lines), SIZE, fields=tuple(Box(left, top, 220, 24) for left, top, _ in fields))


def click(on: Sight, text: str, **arguments: Any) -> Did:
    """Return a click on a text, or into the field next to it."""
    label = next(line.box for line in on.lines if line.text == text)
    beside = next((box for box in on.fields if abs(box.top - label.top) < 12), None)
    return Did(on, "click", {"button": "left", **arguments}, (beside or label).center)


def write(on: Sight, text: str, **arguments: Any) -> Did:
    return Did(on, "write", {"content": text, "overwrite": True, "press_enter": False, **arguments})


def recording(name: str, did: Sequence[Did], last: Sight, answer: Any = "", **told: Any) -> Recording:
    """Return the recording of a run. Equal screens have the same picture id."""
    pictures = [picture(sight) for sight in [*(one.on for one in did), last]]
    steps = tuple(
        RecordedStep(number, one.tool, one.arguments, "", before, after, () if one.at is None else (one.at,))
        for number, (one, before, after) in enumerate(zip(did, pictures, pictures[1:], strict=False), start=1)
    )
    said = answer if isinstance(answer, str) else json.dumps(answer)
    digest = f"{name:0>64}"
    return Recording(f"runs/{name}", digest, "do it", "do it", told, steps, said, pictures[-1], subgoal=1)


def picture(sight: Sight) -> Picture:
    return Picture(str(id(sight)), Box.whole(SIZE), SIZE)


def sights(*screens: Sight) -> dict[Picture, Sight]:
    """Return the content of the pictures of some screens."""
    return {picture(sight): sight for sight in screens}


def compiled(screens: Sequence[Sight], *runs: Recording) -> Compiled:
    """Return the playbook compiled from some runs over these screens, named ``do-it``."""
    return _made_somehow(CompileSettings("do-it"), runs, sights(*screens)).told
