"""Find the step of a playbook that does not fit the screen, and the reason, without any values of the business item.

`misfit_of` returns a `Misfit`. Healing uses it to let a model do that one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.scripts.conditions import conditions_in_words, has_come, is_known, is_visible
from holo_tasks.scripts.earlier_steps import EarlierSteps
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound
from holo_tasks.scripts.playbook import ListStep, Rule
from holo_tasks.scripts.rules import Decision, check_in_front, find, is_meant, is_shown, may_begin, unmet, words_of
from holo_tasks.scripts.steps_and_targets import Action, Condition, texts_of
from holo_tasks.scripts.values import PLACEHOLDER, Value, read_values
from holo_tasks.vision.screen_text import Sight

Cause = Literal["screen", "target", "values", "effect", "failed", "model"]
"""Reason of a misfit.

* screen: the screen is not the one of the step.
* target: the target is not there.
* values: a value cannot be read.
* effect: the step had no effect.
* failed: the step failed twice.
* model: the playbook leaves the step to the model.
"""
SELECT_ALL = ("ctrl", "a")
LEFT_TO_MODEL = "the playbook leaves this step to the model"


@dataclass(frozen=True)
class Misfit:
    """A step that does not fit: the rule, the index of its action, and the reason.

    ``near`` is whether the screen shows some of the step's conditions. ``of_other_item`` is whether it is the right
    screen with another business item. ``done`` are the thoughts of the steps that were done.
    """

    rule: Rule
    place: int
    cause: Cause
    why: str
    near: bool = True
    of_other_item: bool = False
    done: tuple[str, ...] = ()

    @property
    def action(self) -> Action:
        """The action of the step."""
        return self.rule.do[self.place]

    @property
    def sentence(self) -> str:
        """Sentence with the step, its target and the reason."""
        # For a missing target, the reason names the target already.
        names = self.action.targets if self.cause in ("effect", "failed") else ()
        done_to = "".join(f", done to ‘{words_of(target)}’" for target in names[:1])
        said = "Give the answer." if self.action.answers else self.action.thought
        return f"The step is ‘{said}’ (rule {self.rule.id}{done_to}): {self.why}."

    def asked(self, question: str) -> str:
        """Return the question about a step that is left to a model, with the playbook's reason if it has one."""
        has_reason = self.cause == "model" and self.why != LEFT_TO_MODEL
        return f"{question} The playbook leaves this step to the model: {self.why}." if has_reason else question


def keys_may_be_lost(rules: Sequence[Rule], misfit: Misfit) -> bool:
    """Return whether a text did not arrive, and the keys before it may have gone to another window as well.

    It is then unknown which control of the program has the keyboard, so the text may not be typed there. A press of a
    target, or a known element with the keyboard, tells it.
    """
    action = misfit.action
    if misfit.cause != "failed" or action.write is None or action.targets or action.focus is not None:
        return False
    before = next((rule.do[-1] for rule in rules if rule.id in misfit.rule.done), None)
    if before is None or before.hotkey == SELECT_ALL:
        return False
    return before.hotkey is not None or before.hold_and_tap_key is not None


def misfit_of(
    rules: Sequence[Rule], values: Mapping[str, Value], history: Sequence[Turn], sight: Sight, *, met: bool = False
) -> Misfit | None:
    """Return the next step, and why it does not fit; ``None`` if no step is left.

    If several steps could be next, returns the one with the largest share of visible conditions. ``met`` is true if the
    required effect of the last step was seen. It may be gone by now, as a message.
    """
    past = EarlierSteps(rules, values, history)
    done = past.thoughts
    if past.failed_twice and past.last_rule is not None:
        rule, place = past.last_rule
        return Misfit(rule, place, "failed", f"it failed twice ({past.turns[-1].told.strip()})", done=done)
    if not met and past.last_in_line is not None and (lacking := unmet(past, values, sight)):
        rule, place = past.last_in_line
        return Misfit(
            rule, place, "effect", f"the screen does not show {conditions_in_words(lacking)} after it", done=done
        )
    if past.last is not None and past.last[1] + 1 < len(past.last[0].do):
        rule, place = past.last
        return _judged(rule, place + 1, values, sight, done)
    meant = [rule for rule in rules if rule.do[0].wait is None and is_meant(rule, values)]
    likely = [rule for rule in meant if may_begin(rule, past, late=True)]
    # An interruption that is not there is not the step that comes next.
    likely = [rule for rule in likely if not rule.anytime or is_shown(rule, values, sight)]
    if not likely:
        return None
    return _judged(max(likely, key=lambda rule: _likeness(rule, values, sight)), 0, values, sight, done)


def asks_model(
    rules: Sequence[Rule], values: Mapping[str, Value], history: Sequence[Turn], decision: Decision
) -> Misfit:
    """Return the step at which a playbook leaves the answer, or the step itself, to a model."""
    rule = next(rule for rule in rules if rule.id == decision.rule)
    place = next(number for number, action in enumerate(rule.do) if action is decision.action)
    done = EarlierSteps(rules, values, history).thoughts
    action = rule.do[place]
    if action.by_model is not None:
        why = action.why if isinstance(action, ListStep) and action.why else LEFT_TO_MODEL
        return Misfit(rule, place, "model", why, done=done)
    return Misfit(rule, place, "values", "a playbook cannot read all of the answer from the screen", done=done)


def _likeness(rule: Rule, values: Mapping[str, Value], sight: Sight) -> tuple[bool, float]:
    return is_shown(rule, values, sight), max(_share(screen, values, sight) for screen in rule.screens)


def _share(screen: Sequence[Condition], values: Mapping[str, Value], sight: Sight) -> float:
    """Return the visible share of a screen's conditions, without those that contain values of the item."""
    fixed = [wanted for wanted in screen if not _is_of_item(wanted)]
    return sum(is_visible(wanted, values, sight) for wanted in fixed) / len(fixed) if fixed else 0.0


def _judged(rule: Rule, place: int, values: Mapping[str, Value], sight: Sight, done: tuple[str, ...]) -> Misfit:
    """Return why a step of a rule does not fit."""
    if not is_shown(rule, values, sight):
        screen = max(rule.screens, key=lambda one: _share(one, values, sight))
        unseen = [wanted for wanted in screen if not has_come(wanted, values, sight)]
        near = _share(screen, values, sight) > 0
        other = bool(unseen) and near and all(map(_is_of_item, unseen))
        return Misfit(rule, place, "screen", _unseen(rule, unseen, values, sight), near, other, done)
    read = read_values(rule.read, sight.shown or sight, values)
    if read is None:
        why = f"not all of {', '.join(rule.read)} can be read on the screen"
        return Misfit(rule, place, "values", why, done=done)
    for target in rule.do[place].targets:
        try:
            find(target, {**values, **read}, sight)
        except NotFound as error:
            why = (
                "there is more than one"
                if isinstance(error, AmbiguousTarget)
                else "it was not found on the screen with certainty"
            )
            reason = (
                f"of ‘{words_of(target)}’ {why}"
                if isinstance(error, AmbiguousTarget)
                else f"‘{words_of(target)}’: {why}"
            )
            return Misfit(rule, place, "target", f"{reason}{f' ({error})' if str(error) else ''}", done=done)
    try:
        check_in_front(rule, rule.do[place], {**values, **read}, sight)
    except NotFound as error:
        return Misfit(rule, place, "screen", str(error).rstrip("."), done=done)
    return Misfit(rule, place, "screen", "another step should have come first", done=done)


def _unseen(rule: Rule, unseen: Sequence[Condition], values: Mapping[str, Value], sight: Sight) -> str:
    if unseen:
        return f"the screen does not show {conditions_in_words(unseen)}"
    shown = [wanted for wanted in rule.not_ if is_known(wanted, sight) and is_visible(wanted, values, sight)]
    if shown:
        return f"the screen shows {conditions_in_words(shown)}, which it must not"
    return "the screen shows none of the conditions of the step"


def _is_of_item(wanted: Condition) -> bool:
    return any(PLACEHOLDER.search(text) for text in texts_of(wanted))
