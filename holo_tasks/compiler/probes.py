"""Build a probe from runs that looked for the effect of a goal.

The probe answers done if the screen shows texts that only the runs with that answer show. `ProbeBuilder` makes its
rules, and the check functions refuse a probe that is not safe. `compile` uses them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from holo_tasks.compiler.answers import value_of
from holo_tasks.compiler.build import ANSWERING, Builder, BuiltRule, leaves
from holo_tasks.compiler.dry_run import DryRunMismatch
from holo_tasks.compiler.marks import LONGEST, SHORTEST, identity_of, is_heading
from holo_tasks.compiler.parameters import Parameters
from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import Recording
from holo_tasks.compiler.targets import is_of_item, templated
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.playbook import Playbook, Rule
from holo_tasks.scripts.playbook_brain import DONE
from holo_tasks.scripts.rules import Decision, follow, is_shown
from holo_tasks.scripts.values import Value, label_of
from holo_tasks.vision.screen_text import Line, Sight, digits, plain

WAITS = 1
"""The number of waits before the probe answers that the effect does not exist. The program may draw it late."""
MOST_TELLING = 2
"""The most texts that identify a screen with the effect."""
COUNTED = 0
"""The rank of a text with a count that other screens of the item show differently. It is the best evidence."""
Ends: TypeAlias = Sequence[tuple[Sight, Mapping[str, Value]]]
"""Screens at the end of a goal, with the parameter values of their recordings."""
THERE = "It is there, just once."
NOT_SO = "It is not there, or not just once."
NOT_THERE = "It was looked for, and is not there just once."
_NO_DIFFERENCE = (
    f"No text distinguishes the screens on which --probe answered ‘{DONE}’ from those of its other answers: have it "
    "look where the program shows a count, such as ‘Notes on file: 1’, the entered value or a heading. Also give a run "
    "that answered otherwise for one of the same items, such as before the work was done."
)
_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_OF_A_DAY = re.compile(r"\d ?[:.,] ?\d\d|\d[-–—./]\d")
"""Times, dates and sums. Runs of one day share them, so they are not counts."""


@dataclass(frozen=True)
class ProbeOf:
    """The goal that a probe belongs to: its name, its parameters, and values of its items.

    No value is written to a file.

    ``told`` are the parameter values of its recordings, and ``answered`` the values in their answers.
    """

    name: str
    params: Collection[str]
    told: Sequence[Mapping[str, Value]]
    answered: Collection[str]

    @property
    def private(self) -> list[str]:
        """The values of the goal's items as texts.

        Texts of one character are left out, because they identify nothing.
        """
        return [text for text in map(str, (*self._values, *self.answered)) if len(text) > 1]

    @property
    def _values(self) -> list[Value]:
        return [value for told in self.told for value in told.values()]

    def is_private(self, text: str) -> bool:
        """Return whether a text contains a parameter value of the goal's items, or a value of their answers."""
        told = (re.escape(value) for value in map(str, self._values) if len(value) > 1)
        if any(re.search(rf"(?<!\w){value}(?!\w)", text, re.IGNORECASE) for value in told):
            return True
        return is_of_item(text, [value for value in self.answered if len(value) > 1])

    def named_in(self, look: Recording, named: Sequence[tuple[str, str]]) -> Recording:
        """Return a recording whose values are named as in the goal, or as in ``named``."""
        typed = (step.arguments.get(TYPING[step.tool]) for step in look.steps if step.tool in TYPING)
        own = {str(value) for value in (*look.data.values(), *typed) if isinstance(value, str | int)}
        known: list[tuple[str, Value]] = [*named]
        known += [(name, value) for told in self.told for name, value in told.items() if name in self.params]
        held = {name: value for name, value in reversed(known) if str(value) in own}
        return replace(look, data={**held, **look.data})  # the goal's name for a value comes first

    def check_known(self, wanted: Collection[str]) -> None:
        """Raise `InvalidUsage` for parameters that the probe needs and the goal does not have."""
        if lacking := sorted(set(wanted) - set(self.params)):
            raise InvalidUsage(
                f"The probe needs {', '.join(lacking)}, which ‘{self.name}’ is not given: name it for both by "
                "--param NAME=VALUE, with a value of a run of each."
            )


def is_done(recording: Recording) -> bool:
    """Return whether a probe run found the effect exactly once."""
    return str(value_of(recording.answer)).strip().casefold() == DONE


def check_answers(looks: Sequence[Recording]) -> None:
    """Raise `InvalidUsage` unless some runs found the effect and some did not."""
    done = sum(map(is_done, looks))
    if not done:
        raise InvalidUsage(
            f"No run of --probe answered ‘{DONE}’: give one that finds the effect exactly once, and answers with that "
            "word alone."
        )
    if done == len(looks):
        raise InvalidUsage(
            f"Every run of --probe answered ‘{DONE}’: also give one that did not find the effect and answered "
            "something else. One from before the work was done is enough."
        )


class ProbeRun(NamedTuple):
    """The end of a probe run: its recording with the answer, the screen of the answer, and the parameter values."""

    recording: Recording
    seen: ReadPicture
    values: Mapping[str, Value]

    @property
    def is_done(self) -> bool:
        return is_done(self.recording)

    def shows(self, said: str) -> bool:
        """Return whether the screen shows a text, with this run's values in place of parameters."""
        return self.seen.sight.has(label_of(said, self.values))


def looks_at(
    recordings: Sequence[Recording], seen: Mapping[str, ReadPicture], parameters: Parameters
) -> list[ProbeRun]:
    """Return the ends of probe runs."""
    every = zip(recordings, parameters.values, strict=True)
    return [ProbeRun(recording, seen[recording.last.sha256], values) for recording, values in every]


@dataclass
class ProbeBuilder(Builder):
    """Builds the rules of a probe. It answers done if the screen shows texts that only runs with that answer show."""

    of: ProbeOf = field(kw_only=True)

    def __post_init__(self) -> None:
        self.stays_there = True  # a probe often answers on a screen that it has seen before

    def _answers(self) -> tuple[list[BuiltRule], tuple[str, ...]]:
        """Return the rules that answer: first those for an existing effect, then those for a missing one."""
        looks = looks_at(self.recordings, self.seen, self.parameters)
        done, others = ([one for one in looks if one.is_done is found] for found in (True, False))
        known_by = self._identity(done)
        telling = self._distinguishing_texts(done, others)
        items = {_item(one, known_by) for one in done}
        # The screen of another item may differ because of the item.
        if not telling and (_on_same_screens(done, others) or not any(_item(one, known_by) in items for one in others)):
            raise InvalidUsage(_NO_DIFFERENCE)
        rules = []
        for screen in dict.fromkeys(one.seen.screen for one in (*done, *others)):
            here = [one for one in looks if one.seen.screen == screen]
            asked = self._screen(screen, [(one.seen.sight, one.values) for one in here], "the answer")
            asked["screen"] = self._with_whole_lines(asked["screen"], here)
            if found := [one for one in here if one.is_done]:
                self._check_alone(found, known_by, telling)
                known = self._with_whole_lines(identity_of(_shown(found), self._names), found)
                shown = [*asked["screen"], *known, *telling]
                there = asked | {"screen": list(dict.fromkeys(shown))}
                rules.append(self._answer(screen, found, "there-once", there, DONE, THERE))
            if telling or len(found) < len(here):
                rules.append(self._answer(screen, here, "not-so", asked | {"waited": WAITS}, NOT_THERE, NOT_SO))
        return rules, ()

    def _answer(
        self, screen: int, here: Sequence[ProbeRun], name: str, asked: Mapping[str, Any], answer: str, thought: str
    ) -> BuiltRule:
        own = {key: [*value] if isinstance(value, list) else value for key, value in asked.items()}
        do = [{"answer": answer, "thought": self._thought(thought)}]
        return BuiltRule(screen, ANSWERING, {"id": self._id(name), **own, "do": do}, _shown(here))

    def _identity(self, done: Sequence[ProbeRun]) -> list[str]:
        """Return the parameters that identify the item on the screens of runs that answered done.

        Raises `InvalidUsage` if no parameter is visible there, or if several items show the same values.
        """
        names = self._shown_by(done, self._names)
        if not names:
            self.of.check_known(self._shown_by(done, list(self.parameters.kinds)))
        several = len({_item(one, self._names) for one in done}) > 1
        if not names or (several and len({_item(one, names) for one in done}) == 1):
            raise InvalidUsage(
                f"The screens on which --probe answered ‘{DONE}’ show no parameter, so the item is unknown. Name a "
                "text of the item there by --param NAME=VALUE, or give runs that look where the item is visible."
            )
        return names

    def _with_whole_lines(self, wanted: Sequence[str], looks: Sequence[ProbeRun]) -> list[str]:
        """Return the required texts, with the whole line in place of a pattern such as ``*{name}*``.

        The pattern for AB-1 also matches AB-1-2. Raises `InvalidUsage` if the line differs from item to item.
        """
        lines = {templated(line.text.strip(), looks[0].values): None for line in looks[0].seen.sight.lines}
        found = []
        for text in wanted:
            asked = text
            if "*" in text:
                (name,) = _PLACEHOLDER.findall(text)
                whole = (said for said in lines if _PLACEHOLDER.findall(said) == [name] and "*" not in said)
                asked = next((said for said in whole if all(one.shows(said) for one in looks)), "")
            if not asked:
                raise InvalidUsage(
                    f"On the screen of the answer, {name} is part of a text that differs each time: have the probe "
                    "look where it stands alone, or in the same words."
                )
            found.append(asked)
        return found

    def _check_alone(self, done: Sequence[ProbeRun], known_by: Sequence[str], telling: Sequence[str]) -> None:
        """Raise `InvalidUsage` if the screen shows other items too: the evidence may belong to one."""
        if telling and all(_placeholders([text]) & {*known_by} for text in telling):
            return
        told = [*self.of.told, *self.parameters.values]
        for one in done:
            own = {str(one.values.get(name)) for name in known_by}
            others = {str(each[name]) for each in told for name in known_by if name in each} - own
            if shown := next((value for value in sorted(others) if one.seen.sight.has(f"*{value}*")), ""):
                raise InvalidUsage(
                    f"{one.recording.trace} looked at a screen of several items ({shown} is there too): the evidence "
                    "may belong to another one. Have it look at the item's own screen."
                )

    def _shown_by(self, looks: Sequence[ProbeRun], names: Sequence[str]) -> list[str]:
        forms = identity_of(_shown(looks), names)
        return [name for name in names if any(f"{{{name}}}" in form for form in forms)]

    def _distinguishing_texts(self, done: Sequence[ProbeRun], others: Sequence[ProbeRun]) -> list[str]:
        """Return texts that all runs with the answer done show and no other run shows. Counts come first.

        Raises `InvalidUsage` if several counts could be the evidence.
        """
        first = done[0]
        # An item is identified by parameters that these screens show with and without the effect.
        shown = [*done, *_on_same_screens(done, others)]
        key = self._shown_by(shown, self._names) or self._shown_by(done, self._names)
        items = {_item(one, key) for one in done}
        same = [one for one in others if _item(one, key) in items]
        found: list[tuple[int, str]] = []
        for line in first.seen.sight.lines:
            said = self._template_of(line, first.values)
            if not said or not self._distinguishes(said, done, others):
                continue
            counted = any(_differs_in_count(line, other) for one in same for other in one.seen.sight.lines)
            # Some programs show a count only if there is something to count.
            counted = counted or bool(same and len(items) > 1 and digits(_PLACEHOLDER.sub("", said)))
            # Any other text may be there by chance, such as a message of the day, or for some items only.
            if counted or _placeholders([said]) - {*key} or (same and is_heading(line)):
                found.append((_rank(said, counted=counted), said))
        counts = [said for rank, said in found if rank == COUNTED]
        if len(counts) > MOST_TELLING:
            raise InvalidUsage(
                f"More than one count may show the effect: {', '.join(counts)}. Have the probe look where the only "
                "count is the one that the goal changes."
            )
        return list(dict.fromkeys(said for _, said in sorted(found, key=lambda one: one[0])))[:MOST_TELLING]

    def _template_of(self, line: Line, values: Mapping[str, Value]) -> str:
        """Return the text of a line with parameters in place of values.

        Returns an empty string for a text that is too short or too long. The same holds for a text with a
        private value, an unknown parameter, a date or a sum.
        """
        text = line.text.strip()
        if not SHORTEST <= len(plain(text)) <= LONGEST or "*" in text or "{" in text:
            return ""
        said = templated(text, values)
        rest = _PLACEHOLDER.sub(" ", said)
        if _OF_A_DAY.search(rest) or self.of.is_private(rest) or set(_PLACEHOLDER.findall(said)) - set(self._names):
            return ""
        return said

    def _distinguishes(self, said: str, done: Sequence[ProbeRun], others: Sequence[ProbeRun]) -> bool:
        names = _PLACEHOLDER.findall(said)
        if any(name not in one.values for one in (*done, *others) for name in names):
            return False  # without the value it is unknown whether the screen showed it
        return all(one.shows(said) for one in done) and not any(one.shows(said) for one in others)

    def _require_finished_work(self, answers: Sequence[BuiltRule], stays: Sequence[BuiltRule]) -> None:
        """Make answers come after the last step, if they are given on a screen with steps.

        All other steps on that screen come before the last one.
        """
        screens = {one.on for one in answers}
        last = next((one.told["id"] for one in reversed(stays) if "anytime" not in one.told), None)
        if last is None:
            return
        for answer in (one for one in answers if any(stay.on == one.on for stay in stays)):
            answer.told["after"] = [last]
        for stay in (one for one in stays if one.on in screens and one.told["id"] != last):
            stay.told["unless_done"] = [last]

    @property
    def _names(self) -> list[str]:
        """The parameters that may identify a screen: those that the goal has too."""
        return [name for name in self.parameters.kinds if name in self.of.params]

    @property
    def _private(self) -> list[str]:
        told = [str(value) for values in self.parameters.values for value in values.values()]
        return [*(text for text in told if len(text) > 1), *self.of.private]


def check_said(ended: Decision, look: Recording) -> None:
    """Raise `DryRunMismatch` if the probe's answer differs from the run's: done or not done."""
    if (ended.step["tool_call"].get("content") == DONE) is not is_done(look):
        raise DryRunMismatch(f"The probe would give another answer than {look.trace}, on the same screens.", look)


def check_looks(playbook: Playbook, goal: str, looks: Sequence[ProbeRun]) -> None:
    """Raise `InvalidUsage` if the probe could answer done on a screen where a run answered otherwise."""
    rules = [rule for rule in playbook.rules_of(goal) if rule.do[-1].answer == DONE]
    for look in (one for one in looks if not one.is_done):
        if any(is_shown(rule, look.values, look.seen.sight) for rule in rules):
            raise InvalidUsage(f"The probe would answer ‘{DONE}’ on the last screen of {look.recording.trace}.")


def check_probe(playbook: Playbook, goal: str, ends: Ends, before: Ends, *, at_once: bool) -> None:
    """Check a probe on the screens of its goal.

    Raises `InvalidUsage` if the probe does not know the screens at the goal's end. Also raises it if the probe
    would answer done on a screen of ``before``, where the work was not done yet. ``at_once`` says that a probe run
    answered at the goal's end without any step.
    """
    probe = playbook.goals[goal].probe
    assert probe is not None
    known = playbook.goals[probe].params
    there = [rule for rule in playbook.rules_of(probe) if rule.do[-1].answer == DONE]
    for sight, values in before:
        if any(is_shown(rule, {name: values[name] for name in known if name in values}, sight) for rule in there):
            raise InvalidUsage(
                f"The probe would answer ‘{DONE}’ before ‘{goal}’ has done its work: also give a run of --probe that "
                "looked at the same screen and did not find the effect."
            )
    for sight, values in ends:
        told = {name: value for name, value in values.items() if name in known}
        first = follow(playbook, probe, told, [], sight)
        if first.lost or (first.action is not None and first.action.answers and not at_once):
            raise InvalidUsage(
                f"No run of --probe begins where ‘{goal}’ ends: {probe} would not know that screen. Give one that "
                "starts from that screen, right after the work."
            )


def answered_in(recordings: Sequence[Recording]) -> list[str]:
    """Return the values in the answers of recordings."""
    return [str(leaf) for one in recordings for leaf in leaves(value_of(one.answer))]


def _shown(looks: Sequence[ProbeRun]) -> list[tuple[Sight, Mapping[str, Value]]]:
    return [(one.seen.sight, one.values) for one in looks]


def _on_same_screens(done: Sequence[ProbeRun], others: Sequence[ProbeRun]) -> list[ProbeRun]:
    """Return the runs with another answer that ended on the same screen as runs that answered done."""
    screens = {one.seen.screen for one in done}
    return [one for one in others if one.seen.screen in screens]


def _item(look: ProbeRun, names: Sequence[str]) -> tuple[str, ...]:
    """Return a run's values of some parameters. They identify its item."""
    return tuple(str(look.values.get(name)) for name in names)


def _differs_in_count(line: Line, other: Line) -> bool:
    """Return whether two texts differ in their numbers only."""
    bare = [re.sub(r"\d", "", plain(one.text)) for one in (line, other)]
    return bare[0] == bare[1] and len(bare[0]) >= SHORTEST and digits(line.text) != digits(other.text)


def _rank(said: str, *, counted: bool) -> int:
    """Return the rank of a text as evidence: counts first, then texts with a value of the item, then others."""
    return COUNTED if counted else COUNTED + 1 if "{" in said else COUNTED + 2


def check_only_looks(playbook: Playbook, goal: str, ends: Ends) -> None:
    """Raise `InvalidUsage` if a goal's probe would do more than look.

    It may find the item and leave the screen at the goal's end. It may not type other parameters, or press the
    controls that the goal presses for its effect.
    """
    probe = playbook.goals[goal].probe
    assert probe is not None
    rules = playbook.rules_of(probe)
    there, not_so = (
        {name for rule in rules if rule.do[-1].answer == answer for name in _placeholders(map(str, rule.screen))}
        for answer in (DONE, NOT_THERE)
    )
    known_by = there & not_so if not_so else there  # a value that the goal entered does not identify an item
    behind = [rule for rule in playbook.rules_of(goal) if _placeholders(map(str, rule.screen)) - known_by]
    effects = {*playbook.goals[goal].press_once, *(text for rule in behind for text in _pressed_texts(rule))}
    for rule in rules:
        typed = _placeholders(action.write.text for action in rule.do if action.write is not None)
        if more := sorted(typed - known_by):
            raise InvalidUsage(f"A run of --probe typed {', '.join(more)}, which identifies no item: it only looks.")
        pressed = list(_pressed_texts(rule))
        if again := next((text for text in pressed if text in effects), ""):
            raise InvalidUsage(f"A run of --probe pressed ‘{again}’, as ‘{goal}’ does: it only looks.")
        if rule.anytime and pressed and not any(is_shown(rule, values, sight) for sight, values in ends):
            raise InvalidUsage(
                f"Some runs of --probe pressed ‘{pressed[0]}’, and others did not: a probe may only do that where "
                f"‘{goal}’ ends."
            )


def _placeholders(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in _PLACEHOLDER.findall(text)}


def _pressed_texts(rule: Rule) -> Iterator[str]:
    """Yield the texts and names of the controls that a rule presses, and its key chords. Fields are left out."""
    for action in rule.do:
        ways = (way for target in action.targets for way in target.ways if way.field is None)
        yield from (text for way in ways for text in (way.text, way.name) if text is not None)
        if action.hotkey is not None:
            yield "+".join(key.casefold() for key in action.hotkey)
