"""The playbook: goals, and for each the rules that say what to do on which screen. No coordinates.

Written as YAML by a person; the models below are the format's reference. `load_playbook` names the file
and line of whatever is wrong.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from holo_tasks.core.error_text import problems_of
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.shortened import shortened
from holo_tasks.scripts.actions import Action, AtState, Condition, Conditions, ElementTarget, Part
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.screens_section import DeclaredScreens


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


MOST_VALUES = 100_000
Labels = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""One text or a list of texts. ``*`` stands for anything; ``{name}`` for a value from the task."""


def _lists(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


Screens = Annotated[tuple[Conditions, ...], BeforeValidator(_lists)]
"""Lists of texts and elements; a single text is one of them."""

Name = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]


class BadPlaybook(InvalidUsage):
    """The playbook file cannot be used; the message says where it is wrong."""


class Read(Part):
    """A value on the screen: right of a label, the first group of a pattern that some line matches, or an element's.

    Of an element, a pattern is for its text; both are looked for on the picture where its program tells of none.
    """

    element: ElementTarget | None = None
    right_of: str | None = None
    line: str | None = Field(default=None, description="a regular expression with one group")
    as_: Literal["text", "money", "int", "date"] = Field(default="text", alias="as")
    optional: bool = False

    @model_validator(mode="after")
    def _one(self) -> Read:
        given = 2 - [self.right_of, self.line].count(None)
        if given > 1 or (given == 0 and self.element is None):
            raise ValueError("a value is read right_of: a label, from a line:, or from an element:")
        if self.line is not None and _pattern(self.line).groups != 1:
            raise ValueError("line: needs exactly one group")
        return self


class Rule(Part):
    """When it holds, its actions are done one after the other.

    The first rule of the list that holds is followed, at each step anew. A rule whose last action was
    just done and that still holds waits for the program ``patience`` times, then may start again.
    ``done``, ``unless_done`` and ``max`` count from the last time a rule of ``since`` was finished.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    if_: str | None = Field(default=None, alias="if", description="a parameter that must be true; `not NAME`: false")
    screen: Conditions = Field(default=(), description="what must all be visible")
    or_screen: Screens = Field(default=(), description="the same in other versions of the program: one list suffices")
    any_of: Conditions = Field(default=(), description="of this one must be visible")
    not_: Conditions = Field(default=(), alias="not", description="what must not be visible")
    shows_part_of: str | None = Field(default=None, description="a text, some of which must be visible")
    after: Labels = Field(default=(), description="rules of which one was the last to finish")
    done: Labels = Field(default=(), description="rules that must all have finished")
    unless_done: Labels = Field(default=(), description="rules that must not have finished")
    since: Labels = ()
    waited: Annotated[int, Field(ge=0)] = Field(default=0, description="waits in a row before it may start")
    max: Annotated[int, Field(ge=1)] = 6
    once: bool = False
    anytime: bool = Field(default=False, description="also while what must come of another step is waited for")
    patience: Annotated[int, Field(ge=0, le=120)] = 4
    pause: Annotated[float, Field(gt=0, le=10)] = Field(default=0.5, description="seconds of each wait")
    read: dict[str, Read] = Field(default_factory=dict)
    do: Annotated[tuple[Action, ...], Field(min_length=1)]

    @property
    def screens(self) -> tuple[Conditions, ...]:
        """What must be visible, in each version of the program."""
        return (self.screen, *self.or_screen)

    @property
    def conditions(self) -> Iterator[Condition]:
        """All that is or is not to be visible, before its actions and after them."""
        then = (one for action in self.do for one in action.then)
        yield from (*chain.from_iterable(self.screens), *self.any_of, *self.not_, *then)

    @property
    def is_seen(self) -> bool:
        """Whether it holds by what the screen shows."""
        return bool(any(self.screens) or self.any_of or self.read or self.shows_part_of)

    @property
    def limit(self) -> int:
        return 1 if self.once else self.max


def states_in(rules: Iterable[Rule]) -> dict[str, None]:
    """Return the names of the states that rules ask for."""
    return {one.state: None for rule in rules for one in rule.conditions if isinstance(one, AtState)}


class Include(Part):
    """The rules of a shared list, put here."""

    include: str


def _kind_of_entry(value: Any) -> str:
    return "Include" if isinstance(value, Include) or (isinstance(value, dict) and "include" in value) else "Rule"


Entry = Annotated[Annotated[Rule, Tag("Rule")] | Annotated[Include, Tag("Include")], Discriminator(_kind_of_entry)]


class Goal(Part):
    """What the playbook knows how to do.

    ``when`` is searched in a task's text, and its named groups are values; a goal without it is only done by name, as
    a script. ``params`` are the values that a script must be given, by their types. ``probe`` is another goal of the
    playbook, which looks whether what was done is there. ``press_once`` are labels of what has the effect.
    """

    when: str | None = None
    params: dict[Name, Kind] = Field(default_factory=dict, description="values by type: text, int, money, date, bool")
    values: dict[str, str] = Field(default_factory=dict, description="values the task may leave out")
    rules: Annotated[tuple[Entry, ...], Field(min_length=1)]
    probe: str | None = Field(
        default=None, description="the goal that a script does before it answers; it answers done"
    )
    press_once: Labels = Field(default=(), description="labels that whoever works presses once only")
    at_limit: dict[str, Any] | str = Field(
        default="The rehearsal model was stopped before it was done.",
        description="the answer when nothing but an answer is allowed",
    )

    @field_validator("when")
    @classmethod
    def _pattern_is_one(cls, when: str | None) -> str | None:
        if when is not None:
            _pattern(when)
        return when


class Playbook(Part):
    """Goals by name, lists of rules that they share, and the states that the screen can be in."""

    name: Annotated[str, Field(min_length=1)]
    about: str = ""
    screens: DeclaredScreens | None = None
    shared: dict[str, tuple[Rule, ...]] = Field(default_factory=dict)
    goals: Annotated[dict[str, Goal], Field(min_length=1)]

    @model_validator(mode="after")
    def _coherent(self) -> Playbook:
        for name in self.goals:
            rules = self.rules_of(name)
            ids = [rule.id for rule in rules]
            _unique(f"goal {name}: the rule id", ids)
            thoughts = [action.thought for rule in rules for action in rule.do if action.wait is None]
            _unique(f"goal {name}: the thought", thoughts)
            for rule in rules:
                for other in (*rule.after, *rule.done, *rule.unless_done, *rule.since):
                    if other not in ids:
                        raise ValueError(f"goal {name}: rule {rule.id} names a rule {other!r} that is not there")
                kind = self.goals[name].params.get((rule.if_ or "").removeprefix("not "))
                if rule.if_ is not None and kind != "bool":
                    raise ValueError(f"goal {name}: rule {rule.id}: if: takes a parameter of type bool")
            if self.screens is not None:
                self.screens.check_expected(name, [action for rule in rules for action in rule.do])
                self.screens.check_known(name, states_in(rules))
            self._check_probe(name)
        if self.screens is not None:
            self.screens.check_goals({name: set(goal.params) for name, goal in self.goals.items()})
        return self

    def _check_probe(self, name: str) -> None:
        goal = self.goals[name]
        if goal.probe is None:
            return
        if goal.probe not in self.goals or goal.probe == name:
            raise ValueError(f"goal {name}: probe: names a goal {goal.probe!r}, which is no other goal of the playbook")
        probe = self.goals[goal.probe]
        known = {*goal.params, *goal.values, *probe.values}
        if lacking := sorted(probe.params.keys() - known):
            raise ValueError(
                f"goal {name}: its probe {goal.probe} needs {', '.join(lacking)}, which {name} is not given"
            )
        if probe.probe is not None:
            raise ValueError(f"goal {name}: its probe {goal.probe} has a probe itself")

    def rules_of(self, goal: str) -> tuple[Rule, ...]:
        """Return a goal's rules in order, shared ones put in."""
        rules: list[Rule] = []
        for entry in self.goals[goal].rules:
            if isinstance(entry, Rule):
                rules.append(entry)
            elif entry.include in self.shared:
                rules.extend(self.shared[entry.include])
            else:
                raise ValueError(f"goal {goal} includes {entry.include!r}, which is not under shared:")
        return tuple(rules)


def load_playbook(path: Path) -> Playbook:
    """Read a playbook file; raises `BadPlaybook` with the file, the line and what is wrong there."""
    return load_version(path)[0]


def load_version(path: Path) -> tuple[Playbook, str]:
    """Read a playbook file as `load_playbook` does; return the SHA-256 of the file, too, as it was read."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPlaybook(f"cannot read the playbook {path}: {error}") from None
    return parse_playbook(text, str(path), path.parent), hashlib.sha256(data).hexdigest()


def parse_playbook(text: str, source: str = "playbook", folder: Path | None = None) -> Playbook:
    """Read a playbook's text; ``source`` names it in errors, ``folder`` is where its pictures are."""
    try:
        root, value = _read(text, source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{source}:{mark.line + 1}" if mark else source
        raise BadPlaybook(f"{where}: not YAML: {shortened(getattr(error, 'problem', None) or str(error))}") from None
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        # The library lets through what falls over a value that is none of its type, and over what is nested too deeply.
        raise BadPlaybook(f"{source}: not YAML: {shortened(str(error))}") from None
    try:
        return Playbook.model_validate(value, context={"folder": folder})
    except ValidationError as error:
        raise BadPlaybook(_first_problem(error, root, source)) from None
    except RecursionError:
        raise BadPlaybook(f"{source}: it is nested too deeply") from None


def _read(text: str, source: str) -> tuple[yaml.Node | None, Any]:
    """Return the nodes of a text, which tell lines, and what they stand for."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, None
        _check_nodes(root, source, {})
        return root, loader.construct_document(root)  # to parse a text takes longer than all else of reading it
    finally:
        loader.dispose()


def _first_problem(error: ValidationError, root: yaml.Node | None, source: str) -> str:
    # A misspelt key is also a missing one: the misspelt one says where to look.
    worst = max(problems_of(error), key=lambda one: (len(one.path), one.kind == "extra_forbidden"))
    line, place = _locate(root, worst.path)
    return f"{source}:{line}: {shortened(place or 'playbook')}: {shortened(worst.what)}"


def _locate(node: yaml.Node | None, path: tuple[int | str, ...]) -> tuple[int, str]:
    """Return the line of a place in the file, and the place in words."""
    line, seen = 1 if node is None else node.start_mark.line + 1, []
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(step)), None)
            if found is None:
                if step not in ("Rule", "Include", "Element"):
                    seen.append(str(step))
                continue
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            continue
        seen.append(str(step))
    return line, ".".join(seen)


def _check_nodes(node: yaml.Node, source: str, known: dict[int, int]) -> int:
    """Return how many values a node stands for, each as often as it is repeated by an alias.

    Raises `BadPlaybook` for a key that is there twice and for more values than a person writes. ``known`` are those of
    nodes that were counted before: of one that is inside itself there is no number, and reading it fails.
    """
    if id(node) in known:
        return known[id(node)]
    known[id(node)], values = MOST_VALUES, 1
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                name = shortened(str(key.value))
                raise BadPlaybook(f"{source}:{key.start_mark.line + 1}: the key {name!r} is there twice")
            seen.add(key.value)
            values += _check_nodes(value, source, known)
    elif isinstance(node, yaml.SequenceNode):
        values += sum(_check_nodes(value, source, known) for value in node.value)
    if values > MOST_VALUES:
        line = node.start_mark.line + 1
        raise BadPlaybook(f"{source}:{line}: it comes to more than {MOST_VALUES} values, aliases repeated")
    known[id(node)] = values
    return values


def _unique(what: str, values: list[str]) -> None:
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"{what} {twice!r} is there twice")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE | re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
