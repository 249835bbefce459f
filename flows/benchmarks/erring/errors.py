"""Errors of a model: their kinds, the steps at which they are made, and the wrong step in place of the right one.

Whether a model errs at a step depends on the task, its seed and the number of the call alone, so all arms get the same
errors. The errors at a low rate are among those at a higher rate.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from holo_tasks.core.screen.geometry import Box, Point, Size

Kind: TypeAlias = Literal["offset", "neighbour", "stale", "again", "skipped", "wrong_value", "early", "invented"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ABOUT: Mapping[Kind, str] = {
    "offset": "a point 5 to 40 px off",
    "neighbour": "a point on a neighbouring control",
    "stale": "a point from the picture before",
    "again": "the last action again",
    "skipped": "a field skipped",
    "wrong_value": "a value typed with one digit changed",
    "early": "done said too early",
    "invented": "a success invented",
}
LEAST_PX, MOST_PX = 5.0, 40.0
NEAREST = 3
"""Number of the nearest controls that count as neighbours."""
SAME_PX = 3
"""A stale point this near to the right one is not an error."""
Call: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Control:
    """A control on the screen: its name, and its box in pixels of the screen."""

    name: str
    box: Box


@dataclass(frozen=True)
class Meant:
    """The right next step: the call with points in pixels, and facts that an error depends on.

    ``field`` is the name of the form's field that the step fills; empty for none. ``value`` is true if the step types
    that field's value. ``begun`` is true once the model has done a part of the task.
    """

    call: Call
    field: str = ""
    value: bool = False
    begun: bool = True


@dataclass
class Mind:
    """Memory of a model from step to step.

    ``values`` are the values that it believes are to be entered, by field. ``skips`` is the field that it takes for
    filled at this step.
    """

    values: dict[str, str] = field(default_factory=dict)
    truth: Mapping[str, str] = field(default_factory=dict)
    skips: str = ""
    last: Call | None = None
    before: Sequence[Control] = ()

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Mind:
        """Return the mind of a model that has read its task."""
        return cls(values=dict(values), truth=dict(values))

    def read_task_again(self) -> None:
        """Read all values in the task once more, as a model does after it got a doubt."""
        self.values = {name: self.truth.get(name, name) for name in self.values}

    def read_again(self, name: str) -> None:
        """Read a field's value in the task once more, as a model does after the program has refused it."""
        self.values[name] = self.truth[name]


def drawn(task: str, seed: int, number: int, rate: float) -> random.Random | None:
    """Return the random source of an error's details if a model errs at a call; ``None`` if it does not."""
    draw = random.Random(f"{task} {seed} {number}")
    return draw if draw.random() < rate else None


def is_pointed(call: Mapping[str, Any]) -> bool:
    """Say whether a call has a point."""
    return "x" in call or "x1" in call


def point_of(call: Mapping[str, Any]) -> Point:
    """Return where a call points first."""
    return Point(call["x"], call["y"]) if "x" in call else Point(call["x1"], call["y1"])


def pointed(call: Mapping[str, Any], at: Point, size: Size) -> Call:
    """Return the same call with another first point, which is moved onto the screen."""
    x, y = min(max(at.x, 0), size.width - 1), min(max(at.y, 0), size.height - 1)
    names = ("x", "y") if "x" in call else ("x1", "y1")
    return {**call, names[0]: x, names[1]: y}


def _far(one: Point, other: Point) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)


def offset(call: Mapping[str, Any], draw: random.Random, size: Size) -> Call:
    """Return a call whose point is 5 to 40 px off."""
    at, far, way = point_of(call), draw.uniform(LEAST_PX, MOST_PX), draw.uniform(0, 2 * math.pi)
    return pointed(call, Point(round(at.x + far * math.cos(way)), round(at.y + far * math.sin(way))), size)


def neighbour(call: Mapping[str, Any], controls: Sequence[Control], draw: random.Random, size: Size) -> Call | None:
    """Return a call that points on a control nearby; ``None`` if the screen has one control only."""
    at = point_of(call)
    others = [one for one in controls if not one.box.contains(at)]
    near = sorted(others, key=lambda one: _far(one.box.center, at))[:NEAREST]
    return pointed(call, draw.choice(near).box.center, size) if near else None


def stale(call: Mapping[str, Any], mind: Mind, controls: Sequence[Control], size: Size) -> Call | None:
    """Return a call that points where its target was in the picture before, or where the last action was.

    ``None`` if that is the right point.
    """
    at = point_of(call)
    target = next((one for one in controls if one.box.contains(at)), None)
    was = next((one for one in mind.before if target is not None and one.name == target.name), None)
    old = was.box.center if was is not None else None
    if old is None or _far(old, at) <= SAME_PX:
        old = point_of(mind.last) if mind.last is not None and is_pointed(mind.last) else None
    if old is None or _far(old, at) <= SAME_PX:
        return None
    return pointed(call, old, size)


def wrong_digit(text: str, draw: random.Random) -> str | None:
    """Return a text with one digit changed; ``None`` if it has none."""
    places = [found.start() for found in re.finditer(r"\d", text)]
    if not places:
        return None
    place = draw.choice(places)
    other = draw.choice([digit for digit in "0123456789" if digit != text[place]])
    return f"{text[:place]}{other}{text[place + 1 :]}"


@dataclass(frozen=True)
class Slip:
    """An error that was made: its kind, the right call, and the call that was given."""

    kind: Kind
    meant: Call
    given: Call


class Erring:
    """Makes errors out of right steps."""

    def __init__(self, mind: Mind, controls: Sequence[Control], size: Size, draw: random.Random) -> None:
        self.mind, self.controls, self.size, self.draw = mind, controls, size, draw

    def of(self, kind: Kind, meant: Meant, without: Meant | None, answers: Mapping[Kind, Call]) -> Call | None:
        """Return the wrong step in place of the right one; ``None`` if this kind of error cannot be made here.

        ``without`` is the step of a model that takes the field for filled, ``answers`` are the false answers.
        """
        call, mind = meant.call, self.mind
        match kind:
            case "offset" if is_pointed(call):
                return offset(call, self.draw, self.size)
            case "neighbour" if is_pointed(call):
                return neighbour(call, self.controls, self.draw, self.size)
            case "stale" if is_pointed(call):
                return stale(call, mind, self.controls, self.size)
            case "again" if mind.last is not None and mind.last["tool_name"] not in ("wait", "answer"):
                return None if mind.last == call else dict(mind.last)
            case "skipped" if without is not None and without.call != call:
                return without.call
            case "wrong_value" if meant.value:
                wrong = wrong_digit(mind.values[meant.field], self.draw)
                if wrong is None:
                    return None
                mind.values[meant.field] = wrong
                return {**call, "content": wrong}
            case "early" if meant.begun:
                return answers.get(kind)
            case "invented":
                return answers.get(kind)
        return None


def err(erring: Erring, meant: Meant, without: Meant | None, answers: Mapping[Kind, Call]) -> Slip | None:
    """Return an error in place of a right step: of a random kind among those that can be made here."""
    if meant.call["tool_name"] in ("answer", "wait"):
        return None  # neither presses anything
    kinds = list(KINDS)
    erring.draw.shuffle(kinds)
    for kind in kinds:
        given = erring.of(kind, meant, without, answers)
        if given is not None:
            return Slip(kind, meant.call, given)
    return None


def without_field(mind: Mind, name: str) -> Mind:
    """Return the mind of a model that takes a field for filled."""
    return replace(mind, skips=name)
