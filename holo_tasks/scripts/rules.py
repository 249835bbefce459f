"""What a playbook says to do next: a pure function of the task, the steps so far and what is on the screen."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.outside import apart
from holo_tasks.scripts.actions import Action, Target
from holo_tasks.scripts.params import typed
from holo_tasks.scripts.playbook import Playbook, Rule
from holo_tasks.scripts.values import Value, fill, fill_all, read_values
from holo_tasks.vision.screen_text import Line, Sight, on_row
from holo_tasks.vision.template_match import place_of

UNKNOWN_SCREEN_WAITS = 8
WAITING = "The program is still busy; waiting for it."
LOST = "I do not know what to do on this screen; asking a person."
STUCK = "The same step failed twice; asking a person."
NOT_MINE = "The playbook has no goal for this task; asking a person."
LAST_CALL = "No more actions are possible; answering with what I know."


Written: TypeAlias = Callable[[Point, Size], tuple[float, float]]
"""Writes a pixel of a picture of some size as coordinates in thousandths."""


@dataclass(frozen=True)
class Decision:
    """A step, as the object a model would emit, and the rule it comes from, in words.

    ``action`` is what the playbook says there; None where it says nothing, and waits or stops.
    """

    step: dict[str, Any]
    why: str
    action: Action | None = None


class NotFound(Exception):
    """A target or a value is not on the screen beyond doubt."""


def decide(
    playbook: Playbook, task: str, history: Sequence[Turn], sight: Sight, *, answer_only: bool = False
) -> Decision:
    """Return the next step for a task. ``answer_only``: the step limit was reached, only an answer counts."""
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
) -> Decision:
    """Return the next step of a goal. ``written`` turns a pixel into the coordinates of the step."""
    rules = playbook.rules_of(goal)
    past = _Past(rules, values, history)
    if past.failed_twice and not answer_only:
        question = f"{past.turns[-1].thought} This failed twice: {past.turns[-1].told.strip()}"
        return _stop(STUCK, question, "failed twice", False)
    for rule in rules:
        facts = _holding(rule, values, past, sight)
        if facts is None:
            continue
        if answer_only and rule.do[-1].answer is None:
            continue
        try:
            return _follow(rule, past, sight, facts, written or to_thousandths)
        except NotFound:
            continue
    if answer_only:
        return Decision(_answer(playbook.goals[goal].at_limit, LAST_CALL, values), f"{goal}: at the limit")
    if past.waits < UNKNOWN_SCREEN_WAITS:
        return Decision(_step("wait", WAITING, seconds=1.0), f"{goal}: no rule holds")
    return _stop(LOST, _what_is_seen(goal, sight), f"{goal}: no rule holds, and waiting did not help", False)


def goal_for(playbook: Playbook, task: str) -> tuple[str, dict[str, Value]] | None:
    """Return the first goal that the task's text fits, with the values it names and those of its data.

    Only the instructions are searched: what the data say never makes a goal.
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


class _Past:
    """The steps so far, told apart by their thoughts; waiting is not counted as doing something."""

    def __init__(self, rules: Sequence[Rule], values: Mapping[str, Value], history: Sequence[Turn]) -> None:
        self.turns = [turn for turn in history if turn.tool != "wait"]
        self.waits = next((n for n, turn in enumerate(reversed(history)) if turn.tool != "wait"), len(history))
        said = {
            fill(action.thought, values): (rule, place)
            for rule in rules
            for place, action in enumerate(rule.do)
            if action.wait is None
        }
        self._steps = [None if turn.failed else said.get(turn.thought) for turn in self.turns]
        self._finished = [
            (place, step[0].id)
            for place, step in enumerate(self._steps)
            if step is not None and step[1] == len(step[0].do) - 1
        ]

    @property
    def failed_twice(self) -> bool:
        last = self.turns[-2:]
        return len(last) == 2 and all(turn.failed for turn in last) and last[0].call == last[1].call

    def next_in(self, rule: Rule) -> int:
        """Say which action of a rule comes next: 0 unless the last step was the rule's own."""
        last = self._steps[-1] if self._steps else None
        return last[1] + 1 if last and last[0].id == rule.id else 0

    def last_finished(self, ids: Sequence[str]) -> bool:
        last = self._steps[-1] if self._steps else None
        return bool(last and last[0].id in ids and last[1] == len(last[0].do) - 1)

    def times(self, id_: str, since: Sequence[str]) -> int:
        """Count how often a rule was finished since any of some rules was."""
        start = max((place for place, name in self._finished if name in since), default=-1)
        return sum(1 for place, name in self._finished if name == id_ and place > start)


def _holding(rule: Rule, values: Mapping[str, Value], past: _Past, sight: Sight) -> dict[str, Value] | None:
    """Return the values known to a rule if it holds, else None."""
    if not (_is_meant(rule, values) and _is_shown(rule, values, sight) and _is_its_turn(rule, past)):
        return None
    read = read_values(rule.read, sight.shown or sight)
    return None if read is None else {**values, **read}


def _is_meant(rule: Rule, values: Mapping[str, Value]) -> bool:
    """Say whether the parameter that a rule asks for is true, or false for one that it wants to be ``not`` so."""
    if rule.if_ is None:
        return True
    return bool(values.get(rule.if_.removeprefix("not "))) != rule.if_.startswith("not ")


def _is_shown(rule: Rule, values: Mapping[str, Value], sight: Sight) -> bool:
    """Say whether the screen shows what a rule asks for, and nothing that it does not want."""

    def visible(label: str) -> bool:
        return sight.has(fill(label, values))

    if not all(map(visible, rule.screen)) or any(map(visible, rule.not_)):
        return False
    if rule.any_of and not any(map(visible, rule.any_of)):
        return False
    return rule.shows_part_of is None or sight.shows_part_of(fill(rule.shows_part_of, values))


def _is_its_turn(rule: Rule, past: _Past) -> bool:
    """Say whether a rule may begin by what was done before, or is to go on with what it began."""
    only_waits = all(action.wait is not None for action in rule.do)
    if only_waits and past.waits >= rule.patience:
        return False
    place = past.next_in(rule)
    under_way = 0 < place < len(rule.do)
    waiting = place == len(rule.do) and past.waits < rule.patience
    return under_way or waiting or _may_begin(rule, past)


def _may_begin(rule: Rule, past: _Past) -> bool:
    if past.waits < rule.waited or past.times(rule.id, rule.since) >= rule.limit:
        return False
    if rule.after and not past.last_finished(rule.after):
        return False
    if not all(past.times(other, rule.since) for other in rule.done):
        return False
    return not any(past.times(other, rule.since) for other in rule.unless_done)


def _follow(rule: Rule, past: _Past, sight: Sight, values: Mapping[str, Value], written: Written) -> Decision:
    place = past.next_in(rule)
    if place == len(rule.do):
        if past.waits < rule.patience:
            return Decision(_step("wait", WAITING, seconds=rule.pause), f"{rule.id}: waiting for its effect")
        place = 0
    why = rule.id if len(rule.do) == 1 else f"{rule.id}, {place + 1} of {len(rule.do)}"
    return Decision(write_step(rule.do[place], values, sight, written), why, rule.do[place])


def write_step(action: Action, values: Mapping[str, Value], sight: Sight, written: Written) -> dict[str, Any]:
    """Return an action as the step of a model. Raises `NotFound` if its target is not on the screen beyond doubt."""
    thought = fill(action.thought, values)
    note = fill(action.note, values) if action.note else None

    def at(target: Target) -> dict[str, Any]:
        x, y = written(find(target, values, sight).center, sight.size)
        return {"element": fill(action.element or _words(target), values), "x": x, "y": y}

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
        case _:
            return _step("ask_human", thought, note, question=fill(_given(action.ask_human), values))


def find(target: Target, values: Mapping[str, Value], sight: Sight) -> Box:
    """Return where a target is. Two that fit equally well are as bad as none: it raises."""
    if target.field is not None:
        box = sight.field_at(fill(target.field, values))
        if box is None:
            raise NotFound
        return box
    if target.picture is not None:
        places = sight.pictures(target.picture)
        if not any((target.right_of, target.left_of, target.below, target.above, target.near)):
            box = place_of(places)
            if box is None:
                raise NotFound
            return box
        found = [Line("", place.box) for place in places]
    else:
        found = sight.find(fill(target.text or "", values))
    beside = {"right_of": target.right_of, "left_of": target.left_of, "below": target.below, "above": target.above}
    for relation, label in {**beside, "near": target.near}.items():
        if label is not None:
            anchor = sight.anchor(fill(label, values))
            if anchor is None:
                raise NotFound
            found = sorted(_related(found, relation, anchor), key=lambda line: _distance(line.box, anchor))[:1]
    if len(found) == 1:
        return found[0].box
    if target.picture is not None:
        raise NotFound
    box = sight.anchor(fill(target.text or "", values)) if found else None
    if box is None:
        raise NotFound
    return box


def to_thousandths(point: Point, size: Size) -> tuple[int, int]:
    """Return the coordinates that a client turns back into this pixel, or the one nearest to it."""
    return (
        min(1000, -(-point.x * 1000 // size.width)),
        min(1000, -(-point.y * 1000 // size.height)),
    )


def _related(lines: Sequence[Line], relation: str, anchor: Box) -> Iterator[Line]:
    for line in lines:
        box = line.box
        if (
            relation == "near"
            or (relation == "right_of" and on_row(box, anchor) and box.left >= anchor.right - 2)
            or (relation == "left_of" and on_row(box, anchor) and box.right <= anchor.left + 2)
            or (relation == "below" and box.center.y > anchor.bottom)
            or (relation == "above" and box.center.y < anchor.top)
        ):
            yield line


def _distance(one: Box, other: Box) -> float:
    a, b = one.center, other.center
    return math.hypot(a.x - b.x, a.y - b.y)


def _words(target: Target) -> str:
    if target.picture is not None:
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
    return Decision(_step("ask_human", thought, question=question), why)


def _what_is_seen(goal: str, sight: Sight) -> str:
    seen = "; ".join(line.text for line in (sight.shown or sight).lines[:14]) or "no text at all"
    return f"The playbook has no rule of goal {goal!r} for this screen. It reads: {seen}"
