"""Scripts do a goal without a model: from a playbook, or as a Python function.

Their steps pass the same checks as a model's.

`Script` is the public class. `screens_of` returns the screens that a playbook declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.prompts.macros import Macro, described, macro_name
from holo_tasks.core.screen.states import Recognizer, State
from holo_tasks.loop.screens import Do, Screens
from holo_tasks.loop.script_port import Brain
from holo_tasks.scripts.function_script import Function, FunctionBrain, values_of
from holo_tasks.scripts.loops import unrolled
from holo_tasks.scripts.params import check_no_secret, list_schema, parameter_schema, typed
from holo_tasks.scripts.plan import Plan
from holo_tasks.scripts.playbook import Goal, Playbook, Rule, load_version, states_in
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.script_view import PLAYBOOK, SCRIPT, ScreenReader
from holo_tasks.scripts.step_outcome import Heal
from holo_tasks.scripts.steps_and_targets import Action, ShownWindow
from holo_tasks.scripts.values import fill
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.state_recognizer import ScreenRecognizer

_DONE = "done"


class Script:
    """A goal of a playbook, or an async Python function, with its values.

        Script("ledger.playbook.yaml", "look-up", reference="TX-1")
        Script(look_up, reference="TX-1")     # async def look_up(hands: Hands, reference: str) -> str

    It is a layer of a sub-goal, ``SubgoalOptions(layers=[Script(…)])``, or a tool for the model,
    ``pursue(…, tools=[Script(…)])``. A goal of a playbook that is a tool may lack its values: the model gives them.

    Raises `InvalidUsage` for a wrong playbook, goal or value, and for a value that names a secret. Secrets are named
    only in the script itself. Unknown states are refused later, by `brain`. The goal may be left out if the playbook
    has only one.
    """

    def __init__(self, source: str | Path | Playbook | Function, goal: str = "", /, **values: Any) -> None:
        self._values: Mapping[str, Any]
        self._open, self._is_given = False, bool(values)
        self.heal: Heal = "off"
        self.counts = False
        """Whether the outcomes of its steps are counted in a file next to the playbook."""
        self.file: Path | None = None
        self.version = ""
        """Version of a learned playbook, or SHA-256 of the playbook's file. Empty for any other script."""
        check_no_secret(f"The script {goal or getattr(source, '__name__', '')!r}", values)
        if callable(source) and not isinstance(source, Playbook):
            if goal:
                raise InvalidUsage("A script in Python has no goals; its values are given by name.")
            self._source: Playbook | Function = source
            self.name, self._values = source.__name__, values_of(source, values)
            return
        playbook, self.version = (source, "") if isinstance(source, Playbook) else _loaded(Path(source))
        self.file = None if isinstance(source, Playbook) else Path(source)
        if not goal and len(playbook.goals) == 1:
            goal = next(iter(playbook.goals))
        if goal not in playbook.goals:
            known = ", ".join(playbook.goals)
            raise InvalidUsage(f"The playbook {playbook.name!r} has no goal {goal!r}; it has: {known}.")
        if values and playbook.goals[goal].lists:
            playbook, values = unrolled(playbook, goal, values)
        wanted = playbook.goals[goal]
        self._source, self.name = playbook, goal
        # Without any value it can be a tool, whose values the model gives. As a layer it is refused.
        self._open = not values and any(name not in wanted.values for name in (*wanted.params, *wanted.lists))
        self._values = {} if self._open else typed(goal, wanted.params, values, wanted.values)

    def healing(self, heal: Heal, file: Path | None = None) -> Script:
        """Return the script with a setting for steps that the model does in the playbook's place.

        ``"propose"`` stores a proposal next to the playbook's file. ``"apply"`` changes the file after a verification.
        ``"off"`` stores neither. With any of these, the outcomes of the steps are counted in a file next to it. Without
        this call nothing is stored. Raises `InvalidUsage` for a script without a file.
        """
        if heal not in get_args(Heal):
            raise InvalidUsage(f"healing() takes off, propose or apply, not {heal!r}.")
        made = copy(self)
        made.heal, made.file = heal, file or self.file
        if heal != "off" and made.file is None:
            raise InvalidUsage(f"The script {self.name!r} has no file, so nothing can be stored next to it.")
        made.counts = made.file is not None
        return made

    def check_values(self) -> None:
        """Raise `InvalidUsage` unless the script has all values that it needs."""
        if self._open:
            self.given({})

    def given(self, values: Mapping[str, Any]) -> Script:
        """Return the script with values for its parameters."""
        if not isinstance(self._source, Playbook):
            return self
        if self._is_given:
            if values:
                raise InvalidUsage(f"{self.name!r} has all its values; it takes none.")
            return self
        wanted = self._source.goals[self.name]
        check_no_secret(f"{self.name!r}", values)
        if not wanted.lists:
            typed(self.name, wanted.params, values, wanted.values)
        return Script(self._source, self.name, **values)

    def reading_off(self) -> Script | None:
        """Return the script reduced to its answers, for a screen on which another layer has done the work.

        Returns ``None`` if the playbook has no answer that depends on the screen. An answer that depends only on the
        playbook's own steps or waits does not apply to the work of others.
        """
        if not isinstance(self._source, Playbook):
            return self
        anew = {"after": (), "done": (), "unless_done": (), "since": ()}
        every = (rule for rule in self._source.rules_of(self.name) if rule.do[0].answers and not rule.waited)
        rules = tuple(rule.model_copy(update=anew) for rule in every if rule.is_seen)
        if not rules:
            return None
        told = self._source.goals[self.name]
        kept = {name: getattr(told, name) for name in type(told).model_fields}
        goal = Goal.model_construct(**{**kept, "rules": rules, "steps": (), "interruptions": {}, "probe": None})
        made = copy(self)
        made._source = self._source.model_copy(update={"goals": {self.name: goal}})
        return made

    def macro(self) -> Macro:
        """Return the script as a tool for a model, with parameters unless it has its values."""
        if not isinstance(self._source, Playbook):
            return Macro(macro_name(self.name), described(self.name), {}, (), self.given)
        wanted = self._source.goals[self.name]
        kinds = {} if self._is_given else {**dict.fromkeys(wanted.values, "text"), **wanted.params}
        parameters = {name: parameter_schema(name, kind, wanted.values.get(name)) for name, kind in kinds.items()}
        if not self._is_given:
            parameters |= {name: list_schema(name, of_item) for name, of_item in wanted.lists.items()}
        required = [name for name in parameters if name not in wanted.values]
        said = described(self.name, self._source.about)
        return Macro(macro_name(self.name), said, parameters, required, self.given)

    def brain(
        self,
        recognizer: Recognizer | None = None,
        screens: Screens | None = None,
        reader: Reader | None = None,
    ) -> Brain:
        """Return a new brain, which decides the steps of one run of the script.

        ``screens`` has the states that the script may wait for by name. Raises `InvalidUsage` for missing values, and
        if a playbook names another state.
        """
        self.check_values()
        if isinstance(self._source, Playbook):
            eyes = ScreenReader(reader, recognizer, self._known(screens))
            return PlaybookBrain(self._source, self.name, self._values, eyes)
        return FunctionBrain(
            self._source, self._values, ScreenReader(reader), recognizer or ScreenRecognizer(reader), screens
        )

    def _known(self, screens: Screens | None) -> Sequence[State]:
        """Return the states that a playbook may name. Raises `InvalidUsage` if it names another one."""
        assert isinstance(self._source, Playbook)
        known = screens.candidates if screens is not None else ()
        for name in states_in(self._source.rules_of(self.name)) if known else ():
            if name not in {state.name for state in known}:
                raise InvalidUsage(
                    f"The playbook {self._source.name!r} asks for the state {name!r}, which the screens do not "
                    f"declare. Their states: {', '.join(state.name for state in known)}."
                )
        return known

    @property
    def layer(self) -> str:
        """Name of its layer."""
        return PLAYBOOK if isinstance(self._source, Playbook) else SCRIPT

    @property
    def press_once(self) -> tuple[str, ...]:
        """Labels of the controls with an effect, which every layer presses once only."""
        if not isinstance(self._source, Playbook):
            return ()
        return tuple(fill(label, self._values) for label in self._source.goals[self.name].press_once)

    @property
    def asks_for_windows(self) -> bool:
        """Whether it depends on the windows on the screen."""
        if not isinstance(self._source, Playbook):
            return False
        return any(isinstance(one, ShownWindow) for rule in self._source.rules_of(self.name) for one in rule.conditions)

    @property
    def plan(self) -> Plan | None:
        """Its rules and thoughts, for people; ``None`` for a function, whose steps are unknown."""
        if not isinstance(self._source, Playbook):
            return None
        rules = self._source.rules_of(self.name)
        return Plan(self.name, {rule.id: [fill(one.thought, self._values) for one in rule.do] for rule in rules})

    def __repr__(self) -> str:
        return f"<Script {self.name}>"


def screens_of(source: str | Path | Playbook, do: Mapping[str, Do] | None = None) -> Screens:
    """Return the screens that a playbook declares.

    ``do`` has the actions that the playbook leaves to Python. Its keys are names of interruptions and of ways between
    states. A way without a name has the name of the state to which it leads. Raises `InvalidUsage` for a missing or
    unknown name.
    """
    playbook = source if isinstance(source, Playbook) else _loaded(Path(source))[0]
    declared, given = playbook.screens, dict(do or {})
    if declared is None:
        raise InvalidUsage(f"The playbook {playbook.name!r} declares no screens; add a screens: section.")

    def doing(name: str, written: str | tuple[Action, ...] | None) -> Do:
        if written is None:
            if name not in given:
                raise InvalidUsage(f"The playbook {playbook.name!r} declares no action for {name!r}; give it in do=.")
            return given[name]
        if name in given:
            raise InvalidUsage(f"The playbook {playbook.name!r} has an action for {name!r}; leave it out of do=.")
        return (
            Script(playbook, written)
            if isinstance(written, str)
            else Script(_playbook_of_actions(playbook, name, written), name)
        )

    unknown = set(given) - {*declared.interruptions, *(way.name or way.to for way in declared.ways)}
    if unknown:
        raise InvalidUsage(f"The playbook {playbook.name!r} has no interruption or way named {min(unknown)!r}.")
    return declared.screens(doing)


def states_of(path: Path) -> tuple[State, ...]:
    """Return the states that a playbook declares, interruptions first.

    Actions that are left to Python do not matter.
    """
    playbook, _ = _loaded(path)
    if playbook.screens is None:
        raise InvalidUsage(f"The playbook {playbook.name!r} declares no screens; add a screens: section.")

    async def nothing() -> None: ...

    return playbook.screens.screens(lambda name, do: nothing).candidates


def _playbook_of_actions(playbook: Playbook, name: str, actions: Sequence[Action]) -> Playbook:
    """Return a playbook whose only goal does some actions in order."""
    rule = Rule(id="do", max=1, do=(*actions, Action(answer=_DONE, thought=f"{name}: done.")))
    return playbook.model_copy(update={"goals": {name: Goal(rules=(rule,))}})


def _loaded(path: Path) -> tuple[Playbook, str]:
    try:
        stat = path.stat()
    except OSError as error:
        raise InvalidUsage(f"The playbook {path} cannot be read: {error.strerror or error}.") from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=32)
def _read(path: Path, changed_ns: int, size: int) -> tuple[Playbook, str]:
    return load_version(path)
