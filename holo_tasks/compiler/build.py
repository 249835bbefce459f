"""Build the goal of a playbook from recordings: a rule for each visit to a screen, and the answer at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from holo_tasks.compiler.answers import Answer, RecordedAnswer, answer_of, is_asked_for, reports_done, value_of
from holo_tasks.compiler.effects import new_texts, state_of
from holo_tasks.compiler.marks import covering, identity_of, is_label, marks_of
from holo_tasks.compiler.parameters import Parameters, with_short
from holo_tasks.compiler.paths import TYPING, Visit
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.compiler.steps import actions_of
from holo_tasks.compiler.targets import Shown, is_of_item, templated, without_ellipsis
from holo_tasks.compiler.titles import windows_of
from holo_tasks.compiler.variants import with_variants
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.pressed_elements import BUTTONS
from holo_tasks.scripts.values import Value, fill
from holo_tasks.vision.screen_text import Sight

PATIENCE, PATIENCE_A_WAIT, MOST_PATIENCE = 6, 8, 120
"""``patience`` of a rule: the number of waits for the program after the last action.

The second number is added for each time that the model waited there. The third is the maximum.
"""
TYPED_AGAIN, COMES_AGAIN = 2, 3
"""``max`` of a rule: how often it may be followed.

The first number holds for typing that did not show. The second holds for screens that came up in some runs only.
"""
NO_TARGET = frozenset(
    {
        "thought",
        "then",
        "write",
        "hotkey",
        "hold_and_tap_key",
        "before",
        "after",
        "patience",
        "opens",
        "by_model",
        "why",
    }
)
"""Keys of an action that do not name its target."""
MOST_SIGNS = 2
"""The most texts used as evidence that the work is done, on a screen that does not change otherwise."""
ANSWERING = -1
"""The visit number of rules that answer."""
READING = "Read the values of the answer from this screen."
UNREAD = "The playbook reached its last screen, but cannot read these values of the answer there: {}."


@dataclass(frozen=True)
class BuiltGoal:
    """A goal as a mapping for YAML.

    ``unread`` names the values of the answer that the model is asked for at the end.
    """

    goal: Mapping[str, Any]
    unread: tuple[str, ...] = ()
    by_model: tuple[ByModel, ...] = ()
    items: Mapping[str, Sequence[Mapping[str, Value]]] = field(default_factory=dict)
    """The lists of its loops, with their items in the recording."""

    def interrupted_by(self, interruptions: Mapping[str, Mapping[str, Any]]) -> BuiltGoal:
        """Return the goal with interruptions, which have the form of a playbook."""
        if not interruptions:
            return self
        first = {key: value for key, value in self.goal.items() if key not in ("steps", "rules")}
        return replace(self, goal={**first, "interruptions": interruptions, **self.goal})


@dataclass(frozen=True)
class ByModel:
    """A step that the model does: its number in the list, its words, and the reason."""

    step: int
    words: str
    why: str


@dataclass(frozen=True)
class BuiltRule:
    """A rule of the new playbook.

    ``on`` is the number of its screen, and ``stay`` the number of the visit. ``told`` is the rule as a mapping for
    YAML, and ``shown`` are the pictures that it was seen on.
    """

    on: int
    stay: int
    told: dict[str, Any]
    shown: Shown


@dataclass
class Builder:
    """Builds the rules of one goal from its recordings, whose pictures have been read."""

    recordings: Sequence[Recording]
    seen: Mapping[str, ReadPicture]
    parameters: Parameters
    mines: bool = True
    """Whether steps get conditions for the screen after them (``then``)."""
    stays_there: bool = False
    """Whether the answer may be given on the screen where the work was done, if that has changed by then."""
    _thoughts: dict[str, int] = field(default_factory=dict)
    _ids: dict[str, int] = field(default_factory=dict)

    def built(self, way: Sequence[Visit]) -> BuiltGoal:
        """Return the goal for a path that the recordings share.

        Raises `InvalidUsage` if a step or a screen cannot be identified by text.
        """
        answers, unread = self._answers()
        stays: list[BuiltRule] = []
        for number, visit in enumerate(way):
            came_before = any(rule.on == visit.screen for rule in stays)
            stays += self._rules_of_visit(number, visit, stays[-1].told["id"] if came_before else "")
        if self.stays_there:
            self._require_finished_work(answers, stays)
        self._exclude_item_elsewhere([*answers, *stays])
        # The first rule that fits is followed, so a later rule of a screen comes before the earlier ones.
        by_screen: dict[int, list[BuiltRule]] = {}
        for rule in stays:
            by_screen.setdefault(rule.on, []).insert(0, rule)
        ordered = [*answers, *chain.from_iterable(by_screen.values())]
        rules = [rule.told for rule in ordered]
        once = self._effect_labels()
        used = self.parameters.used_in(repr([rules, once]))
        told = {"params": used, "press_once": once}
        return BuiltGoal({**{key: value for key, value in told.items() if value}, "rules": rules}, unread)

    def _effect_labels(self) -> list[str]:
        """Return the labels of the controls that have the effect, with parameters in place of values.

        Raises `InvalidUsage` if a label contains another value of an item.
        """
        every = zip(self.recordings, self.parameters.values, strict=True)
        found = dict.fromkeys(templated(label, values) for one, values in every for label in one.press_once)
        if own := next((label for label in found if is_of_item(without_ellipsis(label), self._private)), ""):
            raise InvalidUsage(
                f"The label of the control that has the effect contains a value of the item (press_once {own!r}): name "
                "the parameter by --param NAME=VALUE."
            )
        return list(found)

    def _require_finished_work(self, answers: Sequence[BuiltRule], stays: Sequence[BuiltRule]) -> None:
        """Make answers on a screen that was worked on wait for the end of the work.

        They come after the last step. They require texts that appeared by then, or the absence of texts that
        disappeared. Raises `InvalidUsage` if no text changed, because then the end of the work cannot be seen.
        """
        befores = [[self.seen[step.before.sha256].sight for step in one.steps] for one in self.recordings]
        for answer in (one for one in answers if any(stay.on == one.on for stay in stays)):
            (last, values), (before, *_) = answer.shown[0], ([each[-1] for each in befores])
            ends = [sight for sight, _ in answer.shown]
            come = [line.text for line in last.lines if is_label(line, last, values, self._private)]
            come = [text for text in come if all(one.has(text) for one in ends)]
            come = [text for text in come if not any(sight.has(text) for each in befores for sight in each)]
            gone = [line.text for line in before.lines if is_label(line, before, values, self._private)]
            gone = [text for text in gone if not any(one.has(text) for one in ends)]
            gone = [text for text in gone if all(sight.has(text) for each in befores for sight in each)]
            if not (come or gone):
                raise InvalidUsage(
                    "No text on the last screen shows that the work is done: end the runs on a changed screen."
                )
            answer.told["screen"] = [*come[:MOST_SIGNS], *answer.told["screen"]]
            if not come:
                answer.told.setdefault("not", []).extend(gone[:MOST_SIGNS])
            answer.told["after"] = [stays[-1].told["id"]]

    def _exclude_item_elsewhere(self, rules: Sequence[BuiltRule]) -> None:
        """Exclude the current item from rules about other items on the same screen.

        If one visit to a screen requires a value of the item, the rules of other visits require its absence,
        unless they showed it too.
        """
        names = self._names
        for rule in rules:
            others = (other for other in rules if other.on == rule.on and other.stay != rule.stay)
            asked = "".join(text for other in others for text in other.told["screen"])
            for name in (name for name in names if f"{{{name}}}" in asked):
                if not any(sight.has(fill(f"*{{{name}}}*", values)) for sight, values in rule.shown):
                    rule.told.setdefault("not", []).append(f"*{{{name}}}*")

    def _answers(self) -> tuple[list[BuiltRule], tuple[str, ...]]:
        """Return a rule for each screen with an answer, and the names of the values that cannot be read there."""
        by_screen: dict[int, list[RecordedAnswer]] = {}
        for recording, values in zip(self.recordings, self.parameters.values, strict=True):
            seen = self.seen[recording.last.sha256]
            by_screen.setdefault(seen.screen, []).append(RecordedAnswer(recording.answer, seen.sight, values))
        rules, unread = [], dict[str, None]()
        for screen, given in by_screen.items():
            others = [one for other, them in by_screen.items() if other != screen for one in them]
            answer = answer_of(given, others)
            unread |= dict.fromkeys(answer.unread)
            shown = [(one.sight, one.values) for one in given]
            told = {"id": self._id("answer"), **self._screen(screen, shown, "the answer")}
            rules.append(BuiltRule(screen, ANSWERING, told | self._answering(answer), shown))
        return rules, tuple(unread)

    def _answering(self, answer: Answer) -> dict[str, Any]:
        if answer.unread:
            said = UNREAD.format(", ".join(answer.unread))
            return {"do": [{"ask_model": said, "thought": self._thought(READING)}]}
        reads = {name: read.model_dump(by_alias=True, exclude_defaults=True) for name, read in answer.reads.items()}
        do = [{"answer": answer.content, "thought": self._thought(READING)}]
        return {"read": reads, "do": do} if reads else {"do": do}

    def _rules_of_visit(self, number: int, visit: Visit, after: str) -> Iterator[BuiltRule]:
        """Yield the rules of one visit. Typed text has to be visible before a control behind it is pressed."""
        in_all = self._in_all(visit)
        for part in _parts(visit.steps):
            shown = [one for step in part for one in self._shown(visit, step)]
            rule = self._screen(visit.screen, shown, f"step {part[0].number}", self._pressed_texts(visit, part))
            if after:
                rule["after"] = [after]
            if not in_all:
                rule |= {"max": COMES_AGAIN, "anytime": True}
            elif any(step.tool in TYPING for step in part) and len(part) < len(visit.steps):
                rule["max"] = TYPED_AGAIN
            else:
                rule["once"] = True
            waited = sum(step.waited for step in part)
            rule["patience"] = min(MOST_PATIENCE, PATIENCE + PATIENCE_A_WAIT * waited)
            do = [action for step in part for action in self._actions(visit, step)]
            self._check_values(do, part[0].number)
            for action in do:
                action["thought"] = self._thought(action["thought"])
            rule = {"id": self._id(_short_description(do)), **rule, "do": do}
            after = rule["id"]
            yield BuiltRule(visit.screen, number, rule, shown)

    def _in_all(self, visit: Visit) -> bool:
        """Return whether all recordings did the same there.

        A step of only some recordings may be needed at any time.
        """
        return len(visit.alike) == len(self.recordings) - 1

    def _actions(self, visit: Visit, step: RecordedStep) -> list[dict[str, Any]]:
        """Return the actions of a step. A press also gets the conditions for the screen after it."""
        (_, sight, values), *others = self._done(visit, step)
        do = actions_of(step, sight, values, self._of_screen(visit.screen))
        if self._names_item(do):  # the neighboring text belongs to this item only
            do = actions_of(step, sight, values)
        if self.parameters.short and (write := do[-1].get("write")):
            number, _ = self._same(visit, step)[0]
            text = with_short(write["text"], self.parameters.short[number])
            do[-1]["write"] = {**write, "text": text, **({"shows": "*"} if "shows" in write and "{" in text else {})}
        do[0] = with_variants(do[0], others)
        of_field = any(isinstance(target, dict) and "field" in target for target in do[-1].values())
        tells = self.mines and self._in_all(visit) and step.points and step.tool not in TYPING and not of_field
        if tells and (then := self._comes_of(self._same(visit, step))):
            do[-1]["then"] = then
        return do

    def _comes_of(self, same: Sequence[tuple[int, RecordedStep]]) -> list[Any]:
        """Return the conditions that hold after a step: texts, windows and the state.

        ``same`` is the step in each recording, with the recording's number.
        """
        steps = [step for _, step in same]
        told = [self.parameters.values[number] for number, _ in same]
        before = [self.seen[step.before.sha256] for step in steps]
        after = [self.seen[step.after.sha256] for step in steps]
        elsewhere = [one.sight for one in self.seen.values() if one.screen != after[0].screen]
        texts = new_texts(before, after, told, elsewhere, self._private, self._names)
        windows = [{"window": title} for title in windows_of(steps, told, self._private)]
        state = state_of(steps)
        return [*texts, *windows, *([{"state": state}] if state else ())]

    def _of_screen(self, screen: int) -> Shown:
        """Return all pictures of a screen, each with the parameter values of its recording."""
        every = zip(self.recordings, self.parameters.values, strict=True)
        pictures = ((self.seen[picture.sha256], values) for one, values in every for picture in one.pictures)
        return [(seen.sight, values) for seen, values in pictures if seen.screen == screen]

    def _pressed_texts(self, visit: Visit, part: Sequence[RecordedStep]) -> list[str]:
        """Return the texts of the controls that are pressed in these steps.

        They do not identify the screen, because they may move while the screen stays the same.
        """
        found = [action for step in part for done in self._done(visit, step) for action in actions_of(*done)]
        return [text for text in target_texts(found) if len(text) > 1]

    def _check_values(self, do: Sequence[Mapping[str, Any]], number: int) -> None:
        """Raise `InvalidUsage` if a target is a value of the item, because the next item has another value."""
        if self._names_item(do):
            raise InvalidUsage(
                f"The target of step {number} is a value of the item, which the next item does not have: name the "
                "parameter by --param NAME=VALUE."
            )

    def _names_item(self, do: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether a target's words are a value of the item. One character, such as a grade, is it if alone.

        A button with an ellipsis at its end opens a dialog. No column has cut it off.
        """
        short = {str(value) for one in self.recordings for value in one.data.values() if len(str(value)) == 1}
        targets = [target for action in do for target in action.values() if isinstance(target, dict)]
        names = {target.get(key) for target in targets if target.get("role") in BUTTONS for key in ("name", "text")}
        texts = [without_ellipsis(text) if text in names else text for text in target_texts(do)]
        return any(text in short or is_of_item(text, self._private) for text in texts)

    def _shown(self, visit: Visit, step: RecordedStep) -> Shown:
        """Return the pictures before a step in all recordings that did it. That of the visit itself comes first."""
        return [(sight, values) for _, sight, values in self._done(visit, step)]

    def _done(self, visit: Visit, step: RecordedStep) -> list[tuple[RecordedStep, Sight, Mapping[str, Value]]]:
        """Return a step in all recordings that did it, each with its picture and parameter values.

        The step of the visit itself comes first.
        """
        same = self._same(visit, step)
        return [(one, self.seen[one.before.sha256].sight, self.parameters.values[number]) for number, one in same]

    def _same(self, visit: Visit, step: RecordedStep) -> list[tuple[int, RecordedStep]]:
        """Return a step in all recordings that did it, with their numbers.

        The step of the visit itself comes first.
        """
        place = visit.steps.index(step)
        owner = next(number for number, one in enumerate(self.recordings) if visit.steps[0] in one.steps)
        every = {owner: visit.steps, **visit.alike}
        return [(number, steps[place]) for number, steps in every.items()]

    def _screen(self, screen: int, shown: Shown, where: str, pressed: Sequence[str] = ()) -> dict[str, Any]:
        """Return the texts that must and must not be on the screen.

        They distinguish it from the other screens, and identify its item. ``where`` names the screen in errors.
        ``pressed`` are the texts of controls that are pressed there. Raises `InvalidUsage` if no text
        distinguishes the screen.
        """
        others = [one.sight for one in self.seen.values() if one.screen != screen]
        # The label of a button may change one day, so it identifies the screen only if no other text does.
        privates = ([*self._private, *pressed], self._private)
        unseen: tuple[str, ...] = ()
        marks = next(filter(None, (marks_of(shown, others, private) for private in privates)), ())
        if not marks:  # another screen shows all these texts too, such as one with a message on top
            told = (covering(shown, others, private) for private in privates)
            marks, unseen = next((each for each in told if each[0]), ((), ()))
        if not marks:
            raise InvalidUsage(f"No text on the screen of {where} distinguishes it from the other screens.")
        asked = {"screen": [*marks, *identity_of(shown, self._names)]}
        return {**asked, "not": [*unseen]} if unseen else asked

    @property
    def _names(self) -> list[str]:
        """The parameters that may identify a screen."""
        return list(self.parameters.kinds)

    @property
    def _private(self) -> list[str]:
        """The values of the recordings' items. They never get into the playbook."""
        told = [value for values in self.parameters.values for value in values.values()]
        answers = [
            leaf
            for one in self.recordings
            if not (is_asked_for(one.answer, one.goal) or reports_done(one.answer, one.goal))
            for leaf in leaves(value_of(one.answer))
        ]
        return [text for text in map(str, [*told, *answers]) if len(text) > 1]

    def _thought(self, text: str) -> str:
        """Return a thought that no other step has. Steps are recognized by their thoughts."""
        number = self._thoughts[text] = self._thoughts.get(text, 0) + 1
        return text if number == 1 else f"{text} ({number})"

    def _id(self, words: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\{.*?\}", "", words).casefold()).strip("-")[:40].strip("-")
        number = self._ids[plain] = self._ids.get(plain, 0) + 1
        return (plain or "step") if number == 1 else f"{plain}-{number}"


def _parts(steps: Sequence[RecordedStep]) -> Iterator[list[RecordedStep]]:
    """Split steps into parts. A press after typing starts a new part."""
    part: list[RecordedStep] = []
    for place, step in enumerate(steps):
        types_there = any(later.tool in TYPING for later in steps[place : place + 2])
        if part and not types_there and any(one.tool in TYPING for one in part):
            yield part
            part = []
        part.append(step)
    yield part


def _short_description(do: Sequence[Mapping[str, Any]]) -> str:
    """Return a short description of actions: the last control that was pressed, or the field that was filled in."""
    pressed = [str(action["thought"]).removeprefix("Click the field ") for action in do if "write" not in action]
    return f"Fill in {pressed[-1]}" if pressed and "write" in do[-1] else str(do[-1]["thought"])


def target_texts(do: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the texts of the targets of some actions."""
    for action in do:
        for what in (what for kind, what in action.items() if kind not in NO_TARGET):
            yield from _texts_of_target(what)


def _texts_of_target(target: Any) -> Iterator[str]:
    """Yield the texts of a target. The name of a picture's file is not a text."""
    if isinstance(target, dict):
        for inner in (inner for name, inner in target.items() if name != "picture"):
            yield from _texts_of_target(inner)
    else:
        yield from map(str, leaves(target))


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values inside a JSON value, at any depth. Booleans and null are skipped."""
    match value:
        case dict():
            for inner in value.values():
                yield from leaves(inner)
        case list():
            for inner in value:
                yield from leaves(inner)
        case bool() | None:
            return
        case _:
            yield value
