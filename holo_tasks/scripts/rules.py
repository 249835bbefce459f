"""Decide the next step of a playbook: pure functions of the task, the earlier steps and the screen.

`decide` is used by the rehearsal model, and `follow` by `PlaybookBrain`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.outside_text import apart
from holo_tasks.scripts.conditions import conditions_in_words, has_come, is_known, is_visible
from holo_tasks.scripts.earlier_steps import EarlierSteps
from holo_tasks.scripts.element_search import (
    IN_TABLES,
    MONTH,
    AmbiguousTarget,
    ContradictedTarget,
    NotFound,
    check_focus,
    distance,
    field_of,
    find_element,
    stands,
    takes_lines,
    unknown_dialog,
    words_for,
)
from holo_tasks.scripts.params import typed
from holo_tasks.scripts.playbook import Playbook, Rule
from holo_tasks.scripts.screen_words import texts_in_words
from holo_tasks.scripts.steps_and_targets import (
    WITHOUT_EFFECT,
    Action,
    Condition,
    Target,
)
from holo_tasks.scripts.values import PLACEHOLDER, Value, fill, fill_all, filled_in, label_of, read_values
from holo_tasks.vision.screen_text import FilledLabel, Line, Sight, matches
from holo_tasks.vision.template_match import SAME_WORDS, place_of

UNKNOWN_SCREEN_WAITS = 8
LEAST_WAITS = 4
"""Smallest number of waits for the required effect of a step."""
INDENT = 40
"""Largest distance, in pixels, of the left edges of a field's text and of an option in the list below it."""
LONGEST_LIST = 12
"""Largest distance of a field's text and of an option in the list below it, in heights of the text."""
WAITING = "The program is still busy; waiting for it."
LOST = "I do not know what to do on this screen; asking a person."
STUCK = "The same step failed twice; asking a person."
NO_EFFECT = "The screen does not show the effect of the last step; asking a person."
NOT_MINE = "The playbook has no goal for this task; asking a person."
LAST_CALL = "No more actions are possible; answering with what I know."


Written: TypeAlias = Callable[[Point, Size], tuple[float, float]]
"""Converts a pixel in a picture of some size to coordinates in thousandths."""


@dataclass(frozen=True)
class Decision:
    """The next step, as the object that a model would emit. ``why`` says in words which rule it comes from.

    ``action`` is the playbook's action; ``None`` if the step is a wait or a stop. ``lost`` is true if no rule could
    decide, so that the playbook waits for a late screen or stops with a question. ``unmet`` is true if the required
    effect of the last step is missing. ``rule`` is the id of the rule that decides or waits, or empty.
    """

    step: dict[str, Any]
    why: str
    action: Action | None = None
    lost: bool = False
    unmet: bool = False
    rule: str = ""


def decide(
    playbook: Playbook, task: str, history: Sequence[Turn], sight: Sight, *, answer_only: bool = False
) -> Decision:
    """Return the next step for a task.

    With ``answer_only``, the step limit is reached and only an answer is allowed.
    """
    found = goal_for(playbook, task)
    if found is None:
        known = ", ".join(playbook.goals)
        question = f"This is the rehearsal model: its playbook {playbook.name!r} only knows {known}. Task: {task[:200]}"
        return _stop(NOT_MINE, question, "no goal", answer_only)
    return follow(playbook, *found, history, sight, answer_only=answer_only)


def follow(
    playbook: Playbook,
    goal: str,
    values: Mapping[str, Value],
    history: Sequence[Turn],
    sight: Sight,
    *,
    answer_only: bool = False,
    written: Written | None = None,
    met: bool = False,
    old: Mapping[str, Value] = MappingProxyType({}),
    seen: Mapping[str, Collection[Condition]] = MappingProxyType({}),
    before: Sight | None = None,
) -> Decision:
    """Return the next step of a goal. ``written`` converts pixels to the coordinates of the step.

    ``met`` is true if the required effect of the last step was seen. ``old`` are the values that were read before the
    last step. A rule with a read that is ``new`` does not hold while that read still gives the old value. ``seen`` has
    by rule the conditions that were seen before the screen was scrolled. ``before`` is the screen before the last
    action.
    """
    rules: Sequence[Rule] = playbook.rules_of(goal)
    past = EarlierSteps(rules, values, history)
    if past.failed_twice and not answer_only:
        question = f"{past.turns[-1].thought} This failed twice: {past.turns[-1].told.strip()}"
        question += texts_in_words(sight, before=before)
        return _stop(STUCK, question, "failed twice", False)
    waiting = None if met or answer_only else _waits_for_effect(past, values, sight, before)
    lacking: list[str] = []
    if not past.has_begun:  # the program is mostly at the first step
        rules = sorted(rules, key=lambda rule: rule.opens)
    for rule in rules if waiting is None else [rule for rule in rules if rule.anytime]:
        try:
            facts = _holding(rule, values, past, sight, old, seen.get(rule.id, ()))
            if facts is None or (answer_only and rule.do[-1].answer is None):
                continue
            found = _follow(rule, past, sight, facts, written or to_thousandths)
            # A wait after a missing target: an earlier rule holds, but its target was not found.
            return replace(found, lost=True) if lacking and found.action is None else found
        except NotFound as error:
            lacking.append(str(error))
    if waiting is not None:
        return waiting
    if answer_only:
        return Decision(_answer(playbook.goals[goal].at_limit, LAST_CALL, values), f"{goal}: at the limit")
    if past.waits < UNKNOWN_SCREEN_WAITS:
        return Decision(_step("wait", WAITING, seconds=1.0), f"{goal}: no rule holds", lost=True)
    told = playbook.goals[goal]
    read = texts_in_words(sight, "It", before)
    question = _unknown_screen_question(goal, read, lacking, is_list=bool(told.steps) and not told.rules)
    return _stop(LOST, question, f"{goal}: no rule holds, and waiting did not help", False)


def goal_for(playbook: Playbook, task: str) -> tuple[str, dict[str, Value]] | None:
    """Return the first goal that the task matches, with the values from the task's instructions and from its data.

    A task has instructions and a data block. Only the instructions are searched, so the data cannot choose a goal.
    """
    task, data = apart(task)
    given: dict[str, Value] = {
        name: value if isinstance(value, str | int | bool) else json.dumps(value, ensure_ascii=False)
        for name, value in data.items()
    }
    for name, goal in playbook.goals.items():
        found = goal.when is not None and re.search(goal.when, task, re.IGNORECASE | re.DOTALL)
        if found:
            named = given | {k: v for k, v in found.groupdict().items() if v is not None}
            try:
                meant = {k: v for k, v in named.items() if k in goal.params}
                return name, {**goal.values, **named, **typed(name, goal.params, meant, goal.values)}
            except InvalidUsage:
                continue  # it needs values that this task does not name
    return None


def unmet(past: EarlierSteps, values: Mapping[str, Value], sight: Sight) -> list[Condition]:
    """Return the conditions that the last step requires afterwards and that do not hold."""
    if past.last_in_line is None:
        return []
    rule, place = past.last_in_line
    return [wanted for wanted in rule.do[place].then if not has_come(wanted, values, sight)]


def _waits_for_effect(
    past: EarlierSteps, values: Mapping[str, Value], sight: Sight, before: Sight | None
) -> Decision | None:
    """Return a wait, or later a stop, while the last step's required effect is missing; ``None`` if it is not."""
    lacking = unmet(past, values, sight)
    if not lacking or past.last_in_line is None:
        return None
    rule, place = past.last_in_line
    if past.waits < max(rule.patience, LEAST_WAITS):
        why = f"{rule.id}: waiting for its effect"
        return Decision(_step("wait", WAITING, seconds=rule.pause), why, unmet=True)
    missing = f"The screen does not show its effect: {conditions_in_words(lacking)}."
    question = f"{rule.do[place].thought} {missing}{texts_in_words(sight, before=before)}"
    return replace(_stop(NO_EFFECT, question, f"{rule.id}: it had no effect", False), unmet=True)


def _holding(
    rule: Rule,
    values: Mapping[str, Value],
    past: EarlierSteps,
    sight: Sight,
    old: Mapping[str, Value],
    seen: Collection[Condition],
) -> dict[str, Value] | None:
    """Return the values that a rule may use if it holds, otherwise ``None``."""
    if not (is_meant(rule, values) and _is_its_turn(rule, past) and is_shown(rule, values, sight, seen)):
        return None
    read = read_values(rule.read, sight.shown or sight, values)
    if read is None or any(each.new and read[name] == old.get(name) for name, each in rule.read.items() if old):
        return None
    return {**values, **read}


def is_meant(rule: Rule, values: Mapping[str, Value]) -> bool:
    """Return whether the parameter named in a rule's ``if`` is true, or false for ``not NAME``. True without ``if``."""
    if rule.if_ is None:
        return True
    return bool(values.get(rule.if_.removeprefix("not "))) != rule.if_.startswith("not ")


def is_shown(rule: Rule, values: Mapping[str, Value], sight: Sight, seen: Collection[Condition] = ()) -> bool:
    """Return whether a rule's conditions on the screen hold. Those in ``seen`` were seen before it was scrolled."""

    def visible(wanted: Condition) -> bool:
        return wanted in seen or has_come(wanted, values, sight)

    if not any(all(map(visible, screen)) for screen in rule.screens):
        return False
    if any(is_known(wanted, sight) and is_visible(wanted, values, sight.as_read) for wanted in rule.not_):
        return False
    one_of = [wanted for wanted in rule.any_of if is_known(wanted, sight)]
    if one_of and not any(map(visible, one_of)):
        return False
    return rule.shows_part_of is None or sight.shows_part_of(fill(rule.shows_part_of, values))


def _is_its_turn(rule: Rule, past: EarlierSteps) -> bool:
    """Return whether a rule may begin after the earlier steps, is under way, or waits for its effect."""
    only_waits = all(action.wait is not None for action in rule.do)
    if only_waits and past.waits >= rule.patience:
        return False
    place = past.next_in(rule)
    under_way = 0 < place < len(rule.do)
    waiting = place == len(rule.do) and past.waits < rule.patience
    return under_way or waiting or may_begin(rule, past)


def may_begin(rule: Rule, past: EarlierSteps, *, late: bool = False) -> bool:
    """Return whether a rule may begin after the earlier steps. With ``late``, the waits are ignored."""
    if (past.waits < rule.waited and not late) or past.times(rule.id, rule.since) >= rule.limit:
        return False
    if rule.opens and not past.has_begun:
        return True
    if rule.after and not past.last_finished(rule.after):
        return False
    if not all(past.times(other, rule.since) for other in rule.done):
        return False
    return not any(past.times(other, rule.since) for other in rule.unless_done)


def _follow(rule: Rule, past: EarlierSteps, sight: Sight, values: Mapping[str, Value], written: Written) -> Decision:
    place = past.next_in(rule)
    if place == len(rule.do):
        if past.waits < rule.patience:
            why = f"{rule.id}: waiting for its effect"
            return Decision(_step("wait", WAITING, seconds=rule.pause), why, rule=rule.id)
        place = 0
    check_in_front(rule, rule.do[place], values, sight)
    why = rule.id if len(rule.do) == 1 else f"{rule.id}, {place + 1} of {len(rule.do)}"
    return Decision(write_step(rule.do[place], values, sight, written), why, rule.do[place], rule=rule.id)


def check_in_front(rule: Rule, action: Action, values: Mapping[str, Value], sight: Sight) -> None:
    """Raise `NotFound` if a dialog that a rule does not know is in front, or if another element has the keyboard.

    An answer may be given under such a dialog if the dialog itself shows what the rule requires or reads.
    """
    if rule.dialogs is not None and (action.kind not in WITHOUT_EFFECT or action.answer is not None):
        box = find(action.targets[0], values, sight) if action.targets else None
        known = [label_of(title, values) for title in rule.dialogs]
        dialog = unknown_dialog(known, box, sight, any_place=action.answer is not None)
        if dialog is not None and not (action.answer is not None and _has_evidence(rule, values, sight, dialog.box)):
            raise NotFound(f"A dialog that these steps do not know is at {dialog.box}.")
    if action.focus is not None:
        check_focus(action.focus.model_copy(update=filled_in(action.focus, values)), sight)
    if action.write is not None and not action.write.lines:
        _check_breaks(action.write.text, values, sight)


def _check_breaks(template: str, values: Mapping[str, Value], sight: Sight) -> None:
    """Raise `NotFound` if a value has a Tab or a line break that would act as a key in the field with the keyboard.

    A line break is a character in a field of several lines. A Tab or a break that the template itself has is meant.
    """
    for found in PLACEHOLDER.finditer(template):
        value = str(values.get(found[1], ""))
        if "\t" in value or (set("\r\n") & {*value} and not takes_lines(sight)):
            sign = "a Tab" if "\t" in value else "a line break"
            raise NotFound(
                f"The value ‘{found[1]}’ has {sign}. Its field takes one line, so the character would act as a key."
            )


def _has_evidence(rule: Rule, values: Mapping[str, Value], sight: Sight, box: Box) -> bool:
    """Return whether a box shows a text that a rule requires, or the values that it reads."""
    shown = sight.shown or sight
    part = Sight(tuple(line for line in shown.lines if box.contains(line.box.center)), sight.size)
    required = any(part.has(label_of(one, values)) for one in rule.screen if isinstance(one, str))
    return required or (bool(rule.read) and read_values(rule.read, part, values) is not None)


def write_step(action: Action, values: Mapping[str, Value], sight: Sight, written: Written) -> dict[str, Any]:
    """Return an action as the step of a model. Raises `NotFound` if its target cannot be found with certainty."""
    thought = fill(action.thought, values)
    note = fill(action.note, values) if action.note else None

    def at(target: Target) -> dict[str, Any]:
        x, y = written(find(target, values, sight).center, sight.size)
        return {"element": fill(action.element or words_of(target), values), "x": x, "y": y}

    match action.kind:
        case "click":
            return _step("click", thought, note, **at(_given(action.click)), button="left")
        case "right_click":
            return _step("click", thought, note, **at(_given(action.right_click)), button="right")
        case "double_click":
            return _step("double_click", thought, note, **at(_given(action.double_click)))
        case "move_to":
            return _step("move_to", thought, note, **at(_given(action.move_to)))
        case "scroll":
            scroll = _given(action.scroll)
            turn = {"direction": scroll.direction, "scroll_size": scroll.notches}
            return _step("scroll", thought, note, **at(scroll.at), **turn)
        case "drag":
            drag = _given(action.drag)
            start, end = at(drag.start), at(drag.end)
            ends = {"x1": start["x"], "y1": start["y"], "x2": end["x"], "y2": end["y"]}
            return _step("drag_and_drop", thought, note, element=start["element"], **ends)
        case "write":
            write = _given(action.write)
            how = {"press_enter": write.press_enter, "overwrite": write.overwrite}
            return _step("write", thought, note, content=fill(write.text, values), **how)
        case "hotkey":
            return _step("hotkey", thought, note, keys=list(_given(action.hotkey)), repeat_count=1)
        case "hold_and_tap_key":
            keys = _given(action.hold_and_tap_key)
            return _step("hold_and_tap_key", thought, note, hold_keys=[*keys.hold], tap_keys=[*keys.tap])
        case "wait":
            return _step("wait", thought, note, seconds=float(_given(action.wait)))
        case "answer":
            return _answer(_given(action.answer), thought, values, note)
        case _:  # without a model, a person is asked
            asked = (action.ask_human, action.ask_model, action.by_model)
            question = next(each for each in asked if each is not None)
            return _step("ask_human", thought, note, question=fill(question, values))


def find(target: Target, values: Mapping[str, Value], sight: Sight) -> Box:
    """Return the box of a target, by the first of its alternatives that finds it.

    Raises `NotFound` if none does. Raises `AmbiguousTarget` as soon as one matches two places equally well.
    """
    try:
        return _found(target, values, sight)
    except (AmbiguousTarget, ContradictedTarget):
        raise
    except NotFound:
        for other in target.or_:
            try:
                return find(other, values, sight)
            except (AmbiguousTarget, ContradictedTarget):
                raise
            except NotFound:
                continue
        raise


def _found(target: Target, values: Mapping[str, Value], sight: Sight) -> Box:
    if target.is_named:
        wanted = target.model_copy(update=filled_in(target, values))
        element = find_element(wanted, wanted.relations, sight, wanted.text or "")
        if element is not None:
            return element.box
        if target.text is None and target.picture is None:
            raise NotFound(f"No program reports {words_for(wanted)}. {_why_not(sight)}".rstrip())
    if target.field is not None:
        label = label_of(target.field, values)
        box = field_of(label, sight) or sight.field_at(label)
        if box is None:
            raise AmbiguousTarget if len(sight.find(label)) > 1 and sight.anchor(label) is None else NotFound
        return box
    if target.text is not None:
        try:
            return _written(target, values, sight)
        except NotFound as error:
            # Two equal texts are ambiguous, unless a person has named the element.
            if target.picture is None or (not target.is_named and isinstance(error, AmbiguousTarget)):
                raise
    return _pictured(target, values, sight)


def _why_not(sight: Sight) -> str:
    """Return why programs do not report their elements, without the programs' own texts.

    The reader may not be allowed to know these texts.
    """
    shown = (sight.shown or sight).elements
    if shown is None:
        return "This desktop reports no elements."
    if not shown.elements:
        return shown.why_not
    notes = dict.fromkeys(app.note.partition(" (")[0] for app in shown.applications if app.note)
    return " ".join(f"A program on the screen: {note}." for note in notes)


def _written(target: Target, values: Mapping[str, Value], sight: Sight) -> Box:
    """Return the box of a target's text on the screen, next to its labels if it has relations."""
    text = label_of(target.text or "", values)
    whole = sight.find(text)
    pieces = sight.find_in_lines(text) if not whole or _is_option(text) else []
    found = _beside([*whole, *pieces], target, values, sight)
    if len(found) == 1:
        return found[0].box
    box = sight.anchor(text) if found and not pieces else None
    if box is None:
        raise AmbiguousTarget if found else NotFound
    return box


def _is_option(label: str) -> bool:
    """Return whether a label is a value without digits. A field may hold it, too, so the pieces of lines count."""
    return isinstance(label, FilledLabel) and label in label.values and not any(map(str.isdigit, label))


def _pictured(target: Target, values: Mapping[str, Value], sight: Sight) -> Box:
    """Return the box of a target's picture on the screen, next to its labels if it has relations."""
    assert target.picture is not None
    places = sight.pictures(target.picture)
    if target.text is not None and not target.is_named:
        # Other words look similar, so the text must also be read there, maybe as part of a longer line.
        label = label_of(f"*{target.text}*", values)
        read = [line.box for line in sight.lines if matches(label, line.text)]
        there = [place for place in places if place.likeness >= SAME_WORDS]
        places = [place for place in there if any(box.contains(place.box.center) for box in read)]
    if not target.relations:
        box = place_of(places)
        if box is None:
            raise AmbiguousTarget if len(places) > 1 else NotFound
        return box
    found = _beside([Line("", place.box) for place in places], target, values, sight)
    if len(found) != 1:
        raise AmbiguousTarget if found else NotFound
    return found[0].box


def _beside(found: Sequence[Line], target: Target, values: Mapping[str, Value], sight: Sight) -> Sequence[Line]:
    """Return the matches in the wanted relation to labels, and only the nearest if there are several."""
    for relation, label in target.relations.items():
        if relation == MONTH:
            raise NotFound  # only the elements of a program tell that a number is a day of a month
        if relation in IN_TABLES:
            anchors = sight.find(label_of(label, values))
            found = [line for line in found if any(stands(line.box, relation, each.box) for each in anchors)]
            continue
        if label == target.text and relation == "below":
            found = _lower_of_two(found)
            continue
        anchor = sight.anchor(label_of(label, values))
        if anchor is None:
            raise NotFound
        there = (line for line in found if stands(line.box, relation, anchor))
        found = sorted(there, key=lambda line: distance(line.box, anchor))[:1]
    return found


def _lower_of_two(found: Sequence[Line]) -> Sequence[Line]:
    """Return the lower one of two equal texts in a column: the option under a field that has its words already.

    While the list of the field is not open yet, the other text may be a row of a table far below.
    """
    if len(found) != 2:
        return []
    upper, lower = sorted((line.box for line in found), key=lambda box: box.top)
    aligned = abs(lower.left - upper.left) <= INDENT and stands(lower, "below", upper)
    is_near = lower.top - upper.bottom <= LONGEST_LIST * upper.height
    return [line for line in found if aligned and is_near and line.box == lower]


def to_thousandths(point: Point, size: Size) -> tuple[int, int]:
    """Return the coordinates that a client converts back to this pixel or the nearest one."""
    return (
        min(1000, -(-point.x * 1000 // size.width)),
        min(1000, -(-point.y * 1000 // size.height)),
    )


def words_of(target: Target) -> str:
    """Return the name of a target for a sentence."""
    if target.is_named:
        return f"{target.name} {target.role or ''}".strip() if target.name else str(target.role)
    if target.picture is not None and target.text is None:
        return f"the picture {target.picture.stem}"
    return f"{target.field} field" if target.field is not None else (target.text or "")


def _given(value: Any) -> Any:
    assert value is not None
    return value


def _step(tool_name: str, thought: str, note: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"note": note, "thought": thought, "tool_call": {"tool_name": tool_name, **arguments}}


def _answer(content: Any, thought: str, values: Mapping[str, Value], note: str | None = None) -> dict[str, Any]:
    filled = fill_all(content, values)
    text = filled if isinstance(filled, str) else json.dumps(filled, ensure_ascii=False)
    return _step("answer", thought, note, content=text)


def _stop(thought: str, question: str, why: str, answer_only: bool) -> Decision:
    if answer_only:
        return Decision(_step("answer", LAST_CALL, content=question), why)
    return Decision(_step("ask_human", thought, question=question), why, lost=True)


def _unknown_screen_question(goal: str, read: str, lacking: Sequence[str], *, is_list: bool) -> str:
    why = "".join(f" {reason}" for reason in dict.fromkeys(lacking) if reason)
    unfit = f"The playbook has no rule of goal {goal!r} for this screen."
    if is_list:
        unfit = f"The next step of goal {goal!r} does not fit this screen."
    return f"{unfit}{why}{read}"
