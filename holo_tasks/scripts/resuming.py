"""Decide where a playbook continues after the model did one step in its place.

`Resuming.resumed` is a pure function of the screen and the steps. The model's action counts as the step only with
evidence. The evidence is a visible effect of the step, a press of a target with the step's words, or the model's own
statement. A press that opened a menu or closed a message does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.prompts.tool_calls import (
    AnyCall,
    ClickCall,
    DoubleClickCall,
    DragAndDropCall,
    HoldAndTapKeyCall,
    HotkeyCall,
    MoveToCall,
    ScrollCall,
    WriteAtCall,
    WriteCall,
)
from holo_tasks.core.screen.geometry import Point
from holo_tasks.scripts.conditions import has_come
from holo_tasks.scripts.element_search import FIELDS, NotFound
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.rules import Decision, find, is_shown
from holo_tasks.scripts.steps_and_targets import Action, Target
from holo_tasks.scripts.values import Value, fill
from holo_tasks.vision.screen_text import Sight, plain

REACH, HEIGHT = 24, 8
"""Largest horizontal and vertical distance in pixels between a pressed point and a text on the pressed control."""
SHORTEST = 3
"""Shorter texts, in characters, do not identify a target."""

Follow = Callable[[Sequence[Turn]], Decision]
"""Returns the playbook's decision on the current screen after the given steps."""


@dataclass(frozen=True)
class Taken:
    """The model's action: its call, the points in pixels of the picture, and the screen of its decision."""

    call: AnyCall
    points: tuple[Point, ...]
    sight: Sight


@dataclass(frozen=True)
class Resumed:
    """The history with which the playbook continues.

    ``counted`` is whether the model did the step itself. Otherwise it removed an obstacle.
    """

    history: tuple[Turn, ...]
    counted: bool


@dataclass(frozen=True)
class Resuming:
    """The facts for the question whether a playbook fits again.

    ``taken`` is the model's last action, and ``said_done`` is whether the model says that the step is done.
    """

    rules: Sequence[Rule]
    values: Mapping[str, Value]
    misfit: Misfit
    follow: Follow
    sight: Sight
    taken: Taken | None = None
    said_done: bool = False

    def resumed(self, history: Sequence[Turn]) -> Resumed | None:
        """Return where the playbook continues; ``None`` while it does not fit."""
        before = tuple(_without_end(history, self.misfit.cause == "failed"))
        if self.misfit.cause == "model":
            return self._left_to_model(before)
        again = self.follow(before)
        as_it_was = Resumed(before, False) if again.action is not None else None
        if self.misfit.cause == "effect":
            return as_it_was
        goes_on = None if again.action is self.misfit.action else as_it_was
        if self.said_done:
            done = self._counted(before, 1)
            after = self.follow(done)
            fits = after.action is not None or (self.taken is not None and not after.lost)
            return Resumed(done, True) if fits else goes_on
        times = self._times()
        if self._came_about() or (times and self._is_sure(times)):
            return Resumed(self._counted(before, max(1, times)), True)
        if not times:
            return goes_on if self._was_keyed() else as_it_was
        if as_it_was is not None and goes_on is None:
            return as_it_was  # the missing target is there now, because of the press
        done = self._counted(before, times)
        return Resumed(done, True) if self._is_new(self.follow(done)) else goes_on

    def _left_to_model(self, before: Sequence[Turn]) -> Resumed | None:
        """Return where the playbook continues after a step of the model; ``None`` while the step is not done.

        The step is done if the model says so, if its effect is visible, or if the next target has appeared.
        """
        done = self._counted(before, 1)
        after = self.follow(done)
        targets = () if after.action is None or after.lost else after.action.targets
        before_it = None if self.taken is None else self.taken.sight
        appeared = before_it is not None and any(_lacks(each, self.values, before_it) for each in targets)
        if self.said_done or self._came_about() or (appeared and not self.misfit.action.then):
            return Resumed(done, True)
        return None

    def _was_keyed(self) -> bool:
        """Return whether keys were pressed. They may have done the step, so it is not repeated after them."""
        return self.taken is not None and isinstance(self.taken.call, HotkeyCall | HoldAndTapKeyCall)

    def _times(self) -> int:
        """Return how many of the rule's actions, from this step on, the model's call may have done."""
        if self.taken is None:
            return 0
        action, following = self.misfit.action, next(iter(self.misfit.rule.do[self.misfit.place + 1 :]), None)
        if not isinstance(self.taken.call, WriteAtCall):
            return int(_is_kind(action, self.taken.call, self.values))
        if action.click is None or action.click.field is None:
            return int(_writes(action, self.taken.call, self.values))
        if following is None or following.write is None:
            return 1
        return 2 if _writes(following, self.taken.call, self.values) else 0

    def _counted(self, history: Sequence[Turn], times: int) -> tuple[Turn, ...]:
        done = self.misfit.rule.do[self.misfit.place : self.misfit.place + times]
        call = self.taken.call.model_dump(mode="json") if self.taken else {}
        tool = str(call.get("tool_name", "click"))
        return (*history, *(Turn(tool, fill(action.thought, self.values), call) for action in done))

    def _came_about(self) -> bool:
        """Return whether the required effect of the step is visible now, and was not before."""
        then = self.misfit.action.then
        if not then or self.taken is None:
            return False
        now, before = (
            all(has_come(wanted, self.values, sight) for wanted in then) for sight in (self.sight, self.taken.sight)
        )
        return now and not before

    def _is_sure(self, times: int) -> bool:
        """Return whether the target of the model's action identifies the step."""
        assert self.taken is not None
        if times > 1 or not self.misfit.action.targets:
            return True
        return all(
            is_in_field(point, self.taken.sight) if target.field is not None else self._is_called(target, point)
            for target, point in zip(self.misfit.action.targets, self.taken.points, strict=False)
        )

    def _is_called(self, target: Target, point: Point) -> bool:
        """Return whether the pressed control has the target's words.

        Without text on it, the model's description is compared.
        """
        assert self.taken is not None
        written = texts_at(point, self.taken.sight) or [str(getattr(self.taken.call, "element", ""))]
        said = [plain(text) for text in written]
        words = [plain(fill(word, self.values)) for way in target.ways for word in (way.text, way.name) if word]
        pairs = [sorted((word, text), key=len) for word in words for text in said]
        return any(len(short) >= SHORTEST and short in long for short, long in pairs)

    def _is_new(self, after: Decision) -> bool:
        """Return whether the playbook continues with something that was not possible before."""
        rule = next((rule for rule in self.rules if rule.id == after.rule), None)
        if rule is None or after.action is None or self.taken is None:
            return False
        if rule.id == self.misfit.rule.id:
            return any(_lacks(target, self.values, self.taken.sight) for target in after.action.targets)
        own = is_shown(self.misfit.rule, self.values, self.sight)
        return not own and not is_shown(rule, self.values, self.taken.sight)


def _lacks(target: Target, values: Mapping[str, Value], sight: Sight) -> bool:
    try:
        find(target, values, sight)
    except NotFound:
        return True
    return False


def is_in_field(point: Point, sight: Sight) -> bool:
    """Return whether a point is in an input field, by its look or by the accessibility tree."""
    reported = sight.elements.elements if sight.elements is not None else ()
    boxes = [*sight.fields, *(each.box for each in reported if each.on_screen and each.role in FIELDS)]
    return any(box.contains(point) for box in boxes)


def texts_at(point: Point, sight: Sight) -> list[str]:
    """Return the texts at a point."""
    return [
        line.text
        for line in sight.lines
        if line.box.left - REACH <= point.x <= line.box.right + REACH
        and line.box.top - HEIGHT <= point.y <= line.box.bottom + HEIGHT
    ]


def _without_end(history: Sequence[Turn], failed: bool) -> Sequence[Turn]:
    """Return a history without the waits at its end. If ``failed``, the failures at its end are also removed."""
    end = len(history)
    while end and (history[end - 1].tool == "wait" or (failed and history[end - 1].failed)):
        end -= 1
    return history[:end]


def _writes(action: Action, call: WriteAtCall | WriteCall, values: Mapping[str, Value]) -> bool:
    return action.write is not None and fill(action.write.text, values) == call.content


def _is_kind(action: Action, call: AnyCall, values: Mapping[str, Value]) -> bool:
    """Return whether a call is of the same kind as an action, whatever its target."""
    match call:
        case ClickCall(button="left"):
            return action.click is not None
        case ClickCall(button="right"):
            return action.right_click is not None
        case DoubleClickCall():
            return action.double_click is not None
        case MoveToCall():
            return action.move_to is not None
        case DragAndDropCall():
            return action.drag is not None
        case ScrollCall():
            return action.scroll is not None and action.scroll.direction == call.direction
        case WriteCall():
            return _writes(action, call, values)
        case HotkeyCall():
            return action.hotkey is not None and [*action.hotkey] == [*call.keys]
        case HoldAndTapKeyCall():
            reported = action.hold_and_tap_key
            return reported is not None and ([*reported.hold], [*reported.tap]) == ([*call.hold_keys], [*call.tap_keys])
        case _:
            return False
