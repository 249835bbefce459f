"""The playbook's file format: goals with steps in their order, or with rules for screens. Coordinates cannot be given.

A person writes it as YAML. The models in this module and in `steps_and_targets` define the format. `load_playbook`
reads a file, and its errors name the file and the line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from string import Formatter
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

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.error_text import problems_of
from holo_tasks.core.texts.shortened import shortened
from holo_tasks.loop.screens import MOST_TIMES
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.screens_section import DeclaredScreens
from holo_tasks.scripts.steps_and_targets import Action, AtState, Condition, Conditions, ElementTarget, Part


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


MOST_VALUES = 100_000
"""Largest number of values in a file, with repeated aliases counted each time."""
Labels = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""One text or a list of texts. ``*`` matches any text; ``{name}`` is a value from the task."""


def _lists(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


Screens = Annotated[tuple[Conditions, ...], BeforeValidator(_lists)]
"""Lists of conditions; a single condition is a list by itself."""

Name = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]
RuleName = Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
Again = Literal["refuse", "tell"]


class BadPlaybook(InvalidUsage):
    """The playbook file cannot be used. The message has the place of the problem."""


class Read(Part):
    """A value on the screen: right of a label, the first group of a pattern that a line matches, or an element's text.

    It may also be the text in the row of another text and below the heading of a column.
    With an element, a pattern applies to its text. Label and pattern are searched on the picture if its program reports
    no elements.
    """

    element: ElementTarget | None = None
    right_of: str | None = None
    line: str | None = Field(default=None, description="a regular expression with one group")
    row: str | None = Field(default=None, description="a text in the same row, such as the item's key")
    column: str | None = Field(default=None, description="the heading of its column, with row:")
    like: str | None = Field(default=None, description="a regular expression that the whole value must match")
    as_: Literal["text", "money", "int", "date"] = Field(default="text", alias="as")
    optional: bool = False
    new: bool = Field(default=False, description="the value from before the last step does not count")

    @model_validator(mode="after")
    def _one(self) -> Read:
        given = 3 - [self.right_of, self.line, self.row].count(None)
        if given > 1 or (given == 0 and self.element is None):
            raise ValueError("a value is read right_of: a label, from a line:, in a row:, or from an element:")
        if (self.row is None) is not (self.column is None):
            raise ValueError("row: and column: are given together")
        if self.like is not None:
            _pattern(self.like)
        if self.line is not None and _pattern(self.line).groups != 1:
            raise ValueError("line: needs exactly one group")
        return self


class Rule(Part):
    """A rule: while its conditions hold, its actions are done in order.

    At each step the first rule that holds is followed. A rule whose last action was just done and that still holds
    waits for the program ``patience`` times. Then it may start again. ``done``, ``unless_done`` and ``max`` count from
    the last time that a rule of ``since`` was finished.
    """

    id: RuleName
    if_: str | None = Field(default=None, alias="if", description="a parameter that must be true; `not NAME`: false")
    screen: Conditions = Field(default=(), description="conditions that must all hold")
    or_screen: Screens = Field(default=(), description="the same in other versions of the program: one list suffices")
    any_of: Conditions = Field(default=(), description="conditions; at least one must hold")
    not_: Conditions = Field(default=(), alias="not", description="conditions that must not hold")
    shows_part_of: str | None = Field(default=None, description="a text, some of which must be visible")
    after: Labels = Field(default=(), description="rules; one of them was the last to finish")
    done: Labels = Field(default=(), description="rules that must all have finished")
    unless_done: Labels = Field(default=(), description="rules that must not have finished")
    since: Labels = ()
    waited: Annotated[int, Field(ge=0)] = Field(default=0, description="waits in a row before it may start")
    max: Annotated[int, Field(ge=1)] = 6
    once: bool = False
    anytime: bool = Field(default=False, description="also during the wait for another step's effect")
    opens: bool = Field(default=False, description="may also be the first rule that is followed, whatever done says")
    patience: Annotated[int, Field(ge=0, le=120)] = 4
    pause: Annotated[float, Field(gt=0, le=10)] = Field(default=0.5, description="seconds of each wait")
    read: dict[str, Read] = Field(default_factory=dict)
    dialogs: Labels | None = Field(default=None, description="titles of dialogs; any other in front stops the rule")
    do: Annotated[tuple[Action, ...], Field(min_length=1)]

    @property
    def screens(self) -> tuple[Conditions, ...]:
        """The conditions that must all hold, for each version of the program."""
        return (self.screen, *self.or_screen)

    @property
    def conditions(self) -> Iterator[Condition]:
        """All conditions of the rule, before and after its actions."""
        then = (one for action in self.do for one in action.then)
        yield from (*chain.from_iterable(self.screens), *self.any_of, *self.not_, *then)

    @property
    def is_seen(self) -> bool:
        """Whether the rule depends on the contents of the screen."""
        return bool(any(self.screens) or self.any_of or self.read or self.shows_part_of)

    @property
    def limit(self) -> int:
        return 1 if self.once else self.max


class Unnamed(Action):
    """An action that may lack a thought, and then gets one from its words."""

    thought: str = ""


class ListStep(Unnamed):
    """One step of a list. It begins when the steps before it are done, and it is done once.

    ``before`` are conditions that must hold before it, and ``after`` those after it. Without a thought it gets one.
    """

    before: Conditions = Field(default=(), description="conditions that must all hold before it")
    or_before: Screens = Field(default=(), description="the same in other versions of the program: one list suffices")
    then: Conditions = Field(default=(), alias="after", description="conditions that must all hold after it")
    opens: bool = Field(default=False, description="the list may also begin here, if its conditions hold")
    read: dict[str, Read] = Field(default_factory=dict)
    why: str = Field(default="", description="the reason why the model does this step")
    allow_errors: bool | Labels = Field(
        default=False, description="failure messages that do not stop the answer; true: any failure message"
    )
    patience: Annotated[int, Field(ge=0, le=120)] = 6
    pause: Annotated[float, Field(gt=0, le=10)] = 0.5

    @model_validator(mode="after")
    def _is_seen(self) -> ListStep:
        if self.opens and not self.before:
            raise ValueError("opens: needs conditions before: the step, by which the program's state is recognized")
        return self


class Loop(Part):
    """Steps that are done for each item of a list. ``{lines.article}`` is a value of the item in the list ``lines``."""

    each: Name = Field(description="the list")
    steps: Annotated[tuple[ListStep, ...], Field(min_length=1)]

    def of_item(self, number: int) -> tuple[ListStep, ...]:
        """Return the steps for one item. Their thoughts name its number, because they identify steps."""
        return tuple(self._of_item(step, number) for step in self.steps)

    def _of_item(self, step: ListStep, number: int) -> ListStep:
        told = step.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        text = json.dumps({**told, "thought": f"{step.thought or step.words} ({self.each} {number})"})
        pattern = rf"\{{{self.each}\.([a-z_][a-z0-9_]*)([}}:])"
        return ListStep.model_validate_json(re.sub(pattern, rf"{{{self.each}_{number}_\1\2", text))


def _kind_of_step(value: Any) -> str:
    return "Loop" if isinstance(value, Loop) or (isinstance(value, dict) and "each" in value) else "Step"


StepOrLoop = Annotated[Annotated[ListStep, Tag("Step")] | Annotated[Loop, Tag("Loop")], Discriminator(_kind_of_step)]


def rules_of_steps(steps: Sequence[ListStep], dialogs: Labels | None = None) -> tuple[Rule, ...]:
    """Return the rules that do steps in their order, each once. Later steps come first. ``dialogs`` are known titles.

    A rule begins when the rule of the previous step is done. So the rules know the place in the list by the steps that
    were done, and need no text that other screens lack.
    """
    rules: list[Rule] = []
    said = Counter[str]()
    for number, step in enumerate(steps, start=1):
        words = step.thought or step.words
        said[words] += 1
        # Steps are recognized by their thoughts.
        thought = words if step.thought or said[words] == 1 else f"{words} ({said[words]})"
        rules.append(
            Rule.model_construct(
                id=f"step-{number}",
                screen=step.before,
                or_screen=step.or_before,
                done=(rules[-1].id,) if rules else (),
                opens=step.opens,
                once=True,
                patience=step.patience,
                pause=step.pause,
                read=step.read,
                dialogs=dialogs,
                do=(step.model_copy(update={"thought": thought}),),
            )
        )
    return tuple(reversed(rules))


class GoalInterruption(Part):
    """Something that may lie over the screen at any time, or never, and the actions that remove it.

    It is not a step of the goal. At most ``most`` times it is removed.
    """

    screen: Annotated[Conditions, Field(min_length=1)] = Field(description="conditions by which it is recognized")
    do: Annotated[tuple[Unnamed, ...], BeforeValidator(_lists), Field(min_length=1)]
    most: Annotated[int, Field(ge=1)] = MOST_TIMES

    def rule(self, name: str) -> Rule:
        """Return the rule that removes it. Its thoughts contain the name, because they identify steps."""
        do = tuple(one.model_copy(update={"thought": one.thought or f"{one.words} ({name})"}) for one in self.do)
        return Rule.model_construct(id=name, screen=self.screen, anytime=True, max=self.most, do=do)


def states_in(rules: Iterable[Rule]) -> dict[str, None]:
    """Return the names of the states in the rules' conditions, in order."""
    return {one.state: None for rule in rules for one in rule.conditions if isinstance(one, AtState)}


class Include(Part):
    """The rules of a shared list, inserted here."""

    include: str


def _kind_of_entry(value: Any) -> str:
    return "Include" if isinstance(value, Include) or (isinstance(value, dict) and "include" in value) else "Rule"


Entry = Annotated[Annotated[Rule, Tag("Rule")] | Annotated[Include, Tag("Include")], Discriminator(_kind_of_entry)]


class Goal(Part):
    """A goal that the playbook can reach, by steps in their order, by rules, or by both: rules come first.

    ``when`` is searched in a task's text, and its named groups become values. A goal without it is only done by its
    name, as a script. ``params`` are the types of the values that a script needs. ``probe`` is another goal of the
    playbook, which checks the effect. ``press_once`` are the labels of controls with an effect.
    """

    when: str | None = None
    params: dict[Name, Kind] = Field(default_factory=dict, description="values by type: text, int, money, date, bool")
    values: dict[str, str] = Field(default_factory=dict, description="values the task may leave out")
    rules: tuple[Entry, ...] = ()
    steps: tuple[StepOrLoop, ...] = Field(default=(), description="steps in their order, each done once, and loops")
    lists: dict[Name, dict[Name, Kind]] = Field(
        default_factory=dict, description="lists of items for loops, each with the values of an item by type"
    )
    interruptions: dict[RuleName, GoalInterruption] = Field(
        default_factory=dict, description="things that may lie over the screen at any time, and how to remove them"
    )
    dialogs: Labels | None = Field(
        default=None, description="titles of dialogs that the steps know; any other dialog in front stops them"
    )
    probe: str | None = Field(
        default=None,
        description="goal that checks the effect before the answer; it answers done if the effect is there",
    )
    press_once: Labels = Field(default=(), description="labels that every layer presses once only")
    absent: Labels = Field(
        default=(), description="texts that name a new item: one on the screen before the first step stops the goal"
    )
    again: Again | None = Field(
        default=None,
        description="what `holo-tasks run` does with values that it did before: refuse, or tell and do them again",
    )
    at_limit: dict[str, Any] | str = Field(
        default="The rehearsal model was stopped before it was done.",
        description="the answer at the step limit",
    )

    @model_validator(mode="after")
    def _does_something(self) -> Goal:
        if not (self.rules or self.steps):
            raise ValueError("a goal needs steps: or rules:")
        if unknown := {step.each for step in self.steps if isinstance(step, Loop)} ^ {*self.lists}:
            raise ValueError(f"each: and lists: must name the same lists, and {min(unknown)!r} is only in one of them")
        taken = {*self.params, *self.values, *(_pattern(self.when).groupindex if self.when else ())}
        for name in self.lists:
            # The values of items get names such as lines_1_article.
            if clash := [other for other in taken if other == name or re.match(rf"{name}_\d+_", other)]:
                raise ValueError(f"the list {name!r} and the value {min(clash)!r} would share names: rename one")
        for text in self.absent:
            named = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
            if not named or named - taken:
                raise ValueError(
                    f"absent: {text!r} needs the name of a value of the goal in braces, such as {{number}}"
                )
        return self

    def with_steps(self, numbers: Mapping[str, int]) -> tuple[ListStep, ...]:
        """Return the steps with those of each loop as often as its list is long. ``numbers`` are the lengths."""
        found: list[ListStep] = []
        for step in self.steps:
            if isinstance(step, Loop):
                found += [each for number in range(numbers[step.each]) for each in step.of_item(number + 1)]
            else:
                found.append(step)
        return tuple(found)

    @property
    def written_steps(self) -> tuple[ListStep, ...]:
        """The steps in their written form, with those of each loop once and the names of its values."""
        return tuple(one for step in self.steps for one in (step.steps if isinstance(step, Loop) else (step,)))

    @cached_property
    def rules_of_interruptions(self) -> tuple[Rule, ...]:
        """The rules that remove interruptions."""
        return tuple(one.rule(name) for name, one in self.interruptions.items())

    @cached_property
    def rules_of_steps(self) -> tuple[Rule, ...]:
        """The rules that do the steps in their order. A loop whose list is unknown counts once."""
        return rules_of_steps(self.with_steps(dict.fromkeys(self.lists, 1)), self.dialogs)

    @field_validator("when")
    @classmethod
    def _pattern_is_one(cls, when: str | None) -> str | None:
        if when is not None:
            _pattern(when)
        return when


class Playbook(Part):
    """Goals by name, shared lists of rules, and the states of the program's screen."""

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
                        raise ValueError(f"goal {name}: rule {rule.id} names a rule {other!r} that does not exist")
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
            raise ValueError(
                f"goal {name}: probe: names a goal {goal.probe!r}, which is not another goal of the playbook"
            )
        probe = self.goals[goal.probe]
        known = {*goal.params, *goal.values, *probe.values}
        if lacking := sorted(probe.params.keys() - known):
            raise ValueError(
                f"goal {name}: its probe {goal.probe} needs {', '.join(lacking)}, which {name} is not given"
            )
        if probe.probe is not None:
            raise ValueError(f"goal {name}: its probe {goal.probe} has a probe itself")

    def rules_of(self, goal: str) -> tuple[Rule, ...]:
        """Return a goal's rules in order: interruptions, its rules with the shared ones inserted, rules of steps."""
        rules = [*self.goals[goal].rules_of_interruptions]
        for entry in self.goals[goal].rules:
            if isinstance(entry, Rule):
                rules.append(entry)
            elif entry.include in self.shared:
                rules.extend(self.shared[entry.include])
            else:
                raise ValueError(f"goal {goal} includes {entry.include!r}, which is not under shared:")
        return (*rules, *self.goals[goal].rules_of_steps)


def load_playbook(path: Path) -> Playbook:
    """Read a playbook file. Raises `BadPlaybook` with the file, the line and the problem."""
    return load_version(path)[0]


def load_version(path: Path) -> tuple[Playbook, str]:
    """Read a playbook file as `load_playbook` does; return the playbook and the SHA-256 of the file."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPlaybook(f"cannot read the playbook {path}: {error}") from None
    return parse_playbook(text, str(path), path.parent), hashlib.sha256(data).hexdigest()


def parse_playbook(text: str, source: str = "playbook", folder: Path | None = None) -> Playbook:
    """Read a playbook's text. ``source`` is its name in errors, and ``folder`` has its pictures."""
    try:
        root, value = _read(text, source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{source}:{mark.line + 1}" if mark else source
        raise BadPlaybook(f"{where}: not YAML: {shortened(getattr(error, 'problem', None) or str(error))}") from None
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        # The library does not convert these errors of malformed values and of deep nesting.
        raise BadPlaybook(f"{source}: not YAML: {shortened(str(error))}") from None
    try:
        return Playbook.model_validate(value, context={"folder": folder})
    except ValidationError as error:
        raise BadPlaybook(_first_problem(error, root, source)) from None
    except RecursionError:
        raise BadPlaybook(f"{source}: the playbook is nested too deeply") from None


def _read(text: str, source: str) -> tuple[yaml.Node | None, Any]:
    """Return the root node of a text, which has line numbers, and its value."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, None
        _check_nodes(root, source, {})
        return root, loader.construct_document(root)  # reuse the nodes, because parsing takes most of the time
    finally:
        loader.dispose()


def _first_problem(error: ValidationError, root: yaml.Node | None, source: str) -> str:
    # A misspelled key also counts as a missing one. The misspelled one has the more useful place.
    worst = max(problems_of(error), key=lambda one: (len(one.path), one.kind == "extra_forbidden"))
    line, place = _locate(root, worst.path)
    return f"{source}:{line}: {shortened(place or 'playbook')}: {shortened(worst.what)}"


def _locate(node: yaml.Node | None, path: tuple[int | str, ...]) -> tuple[int, str]:
    """Return the line of a path in the file, and the path as text."""
    line, seen = 1 if node is None else node.start_mark.line + 1, []
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(step)), None)
            if found is None:
                if step not in ("Rule", "Include", "Element", "Step", "Loop"):
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
    """Return the number of values in a node, with aliases counted at each use.

    Raises `BadPlaybook` for a repeated key, and for more values than a person writes. ``known`` has the numbers of
    earlier nodes. A node that contains itself counts as too large.
    """
    if id(node) in known:
        return known[id(node)]
    known[id(node)], values = MOST_VALUES, 1
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                name = shortened(str(key.value))
                raise BadPlaybook(f"{source}:{key.start_mark.line + 1}: the key {name!r} appears twice")
            seen.add(key.value)
            values += _check_nodes(value, source, known)
    elif isinstance(node, yaml.SequenceNode):
        values += sum(_check_nodes(value, source, known) for value in node.value)
    if values > MOST_VALUES:
        line = node.start_mark.line + 1
        raise BadPlaybook(f"{source}:{line}: more than {MOST_VALUES} values, with aliases counted at each use")
    known[id(node)] = values
    return values


def _unique(what: str, values: list[str]) -> None:
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"{what} {twice!r} appears twice")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE | re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
