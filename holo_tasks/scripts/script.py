"""Scripts: what is done without a model, from a playbook or in Python, through the very same doors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.states import Recogniser
from holo_tasks.core.step import Step
from holo_tasks.loop.screens import Do, Screens
from holo_tasks.loop.script_port import Brain, Intent
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.actions import Action
from holo_tasks.scripts.function_script import Function, FunctionBrain, values_of
from holo_tasks.scripts.params import Given, check_no_secret, typed
from holo_tasks.scripts.playbook import Goal, Playbook, Rule, load_playbook
from holo_tasks.scripts.rules import follow
from holo_tasks.scripts.script_view import SCRIPT, Ears, Eyes, exactly
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.state_recognizer import ScreenRecogniser

_DONE = "done"


class Script:
    """A goal of a playbook, or an async Python function, with the values that it is to be done with.

        Script("ledger.playbook.yaml", "look-up", reference="TX-1")
        Script(look_up, reference="TX-1")     # async def look_up(hands: Hands, reference: str) -> str

    Everything is checked here, before anything is done: `InvalidUsage` for a playbook, a goal or values that are
    wrong, and for a value that names a secret: a script does that itself. The goal may be left out where the playbook
    has only one.
    """

    def __init__(self, source: str | Path | Playbook | Function, goal: str = "", /, **values: Any) -> None:
        self._values: Mapping[str, Any]
        check_no_secret(f"The script {goal or getattr(source, '__name__', '')!r}", values)
        if callable(source) and not isinstance(source, Playbook):
            if goal:
                raise InvalidUsage("A script in Python has no goals; its values are given by name.")
            self._source: Playbook | Function = source
            self.name, self._values = source.__name__, values_of(source, values)
            return
        playbook = source if isinstance(source, Playbook) else _loaded(Path(source))
        if not goal and len(playbook.goals) == 1:
            goal = next(iter(playbook.goals))
        if goal not in playbook.goals:
            known = ", ".join(playbook.goals)
            raise InvalidUsage(f"The playbook {playbook.name!r} has no goal {goal!r}; it has: {known}.")
        wanted = playbook.goals[goal]
        self._source, self.name = playbook, goal
        self._values = typed(goal, wanted.params, values, wanted.values)

    def brain(
        self,
        recogniser: Recogniser | None = None,
        screens: Screens | None = None,
        reader: Reader | None = None,
    ) -> Brain:
        """Return what decides this script once; ``screens`` are the states that it may wait for by name."""
        eyes = Eyes(reader)
        if isinstance(self._source, Playbook):
            return PlaybookBrain(self._source, self.name, self._values, eyes)
        return FunctionBrain(self._source, self._values, eyes, recogniser or ScreenRecogniser(reader), screens)

    def __repr__(self) -> str:
        return f"<Script {self.name}>"


class PlaybookBrain:
    """Follows a goal's rules over what it has done and what is on the screen."""

    def __init__(self, playbook: Playbook, goal: str, values: Mapping[str, Given], eyes: Eyes) -> None:
        self.intent = Intent()
        self._playbook, self._goal, self._values = playbook, goal, values
        self._eyes, self._ears = eyes, Ears()
        self._past: list[Turn] = []

    async def decide(self, walk: Walk) -> Step:
        """Return the next step that the goal's rules have. Raises `GaveUp` when they have none, or ask a person."""
        heard = self._ears.heard(walk)
        if heard is not None:
            step, told = heard
            if step.tool_call.tool_name == "answer":
                raise GaveUp(f"The script's answer was not accepted: {told.text}", layer=SCRIPT)
            call = step.tool_call.model_dump(mode="json")
            self._past.append(Turn(step.tool_call.tool_name, step.thought, call, told.text, told.is_error))
        sight = await self._eyes.sight(walk)
        decision = follow(self._playbook, self._goal, self._values, self._past, sight, written=exactly)
        step = Step.model_validate(decision.step)
        if step.tool_call.tool_name == "ask_human":
            raise GaveUp(step.tool_call.question, layer=SCRIPT)
        action = decision.action
        self.intent = Intent() if action is None else Intent(action.safe, action.expect or "")
        self._ears.gave(step, walk)
        return step

    async def close(self) -> None:
        """Nothing is kept running."""


def screens_of(source: str | Path | Playbook, do: Mapping[str, Do] | None = None) -> Screens:
    """Return the screens that a playbook declares.

    ``do`` gives what the playbook leaves to Python, by the name of the interruption or the way. Raises `InvalidUsage`
    if something is left open, or given that is not there.
    """
    playbook = source if isinstance(source, Playbook) else _loaded(Path(source))
    declared, given = playbook.screens, dict(do or {})
    if declared is None:
        raise InvalidUsage(f"The playbook {playbook.name!r} declares no screens; add a screens: section.")

    def doing(name: str, written: str | tuple[Action, ...] | None) -> Do:
        if written is None:
            if name not in given:
                raise InvalidUsage(
                    f"The playbook {playbook.name!r} leaves open what is done for {name!r}; give it in do=."
                )
            return given[name]
        if name in given:
            raise InvalidUsage(f"What is done for {name!r} is in the playbook {playbook.name!r}; leave it out of do=.")
        return Script(playbook, written) if isinstance(written, str) else Script(_only(playbook, name, written), name)

    unknown = set(given) - {*declared.interruptions, *(way.name or way.to for way in declared.ways)}
    if unknown:
        raise InvalidUsage(f"The playbook {playbook.name!r} has no interruption or way named {min(unknown)!r}.")
    return declared.screens(doing)


def _only(playbook: Playbook, name: str, actions: Sequence[Action]) -> Playbook:
    """Return a playbook whose only goal is to do some actions, one after the other."""
    rule = Rule(id="do", max=1, do=(*actions, Action(answer=_DONE, thought=f"{name}: done.")))
    return playbook.model_copy(update={"goals": {name: Goal(rules=(rule,))}})


def _loaded(path: Path) -> Playbook:
    try:
        stat = path.stat()
    except OSError as error:
        raise InvalidUsage(f"The playbook {path} cannot be read: {error.strerror or error}.") from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=32)
def _read(path: Path, changed_ns: int, size: int) -> Playbook:
    return load_playbook(path)
