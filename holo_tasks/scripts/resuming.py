"""Where a playbook goes on after the model did one step in its place: pure decisions over what is to be seen by then.

What the model did is taken for the step only on evidence: what must come of the step is to be seen, the model pressed
what is called so, or it says that it is done. A press that opened a menu or closed a message is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.actions import (
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
from holo_tasks.core.geometry import Point
from holo_tasks.scripts.actions import Action, Target
from holo_tasks.scripts.element_search import FIELDS, NotFound
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.rules import Decision, find, is_shown, is_visible
from holo_tasks.scripts.values import Value, fill
from holo_tasks.vision.screen_text import Sight, plain

REACH, HEIGHT = 24, 8
"""A text so far beside a point, and above or below it, in pixels, is on what was pressed there."""
SHORTEST = 3
"""Texts of fewer letters do not tell that something is called so."""

Follow = Callable[[Sequence[Turn]], Decision]
"""What the playbook says on the screen as it is by now, after some steps."""


@dataclass(frozen=True)
class Taken:
    """What the model did: its call, where that went in pixels of the picture, and the screen that it was decided on."""

    call: AnyCall
    points: tuple[Point, ...]
    sight: Sight


@dataclass(frozen=True)
class Resumed:
    """The history that the playbook goes on with. ``counted`` says that the model did the step itself; else what it did
    was in the step's way."""

    history: tuple[Turn, ...]
    counted: bool


@dataclass(frozen=True)
class Resuming:
    """What is known when it is asked whether a playbook fits again.

    ``taken`` is what the model did last; ``said_done`` that it says the step is done.
    """

    rules: Sequence[Rule]
    values: Mapping[str, Value]
    misfit: Misfit
    follow: Follow
    sight: Sight
    taken: Taken | None = None
    said_done: bool = False

    def resumed(self, history: Sequence[Turn]) -> Resumed | None:
        """Return where the playbook goes on; None while it does not fit."""
        before = tuple(_without_end(history, self.misfit.cause == "failed"))
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
            return as_it_was  # what was missing is there by now: the press brought it up
        done = self._counted(before, times)
        return Resumed(done, True) if self._is_new(self.follow(done)) else goes_on

    def _was_keyed(self) -> bool:
        """Say whether keys were pressed, which may have done the step: it is not done after them."""
        return self.taken is not None and isinstance(self.taken.call, HotkeyCall | HoldAndTapKeyCall)

    def _times(self) -> int:
        """Return how many of the rule's actions, from the step on, the model's call may have been."""
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
        """Say whether what must come of the step is to be seen, and was not before."""
        then = self.misfit.action.then
        if not then or self.taken is None:
            return False
        now, before = (
            all(is_visible(wanted, self.values, sight) for wanted in then) for sight in (self.sight, self.taken.sight)
        )
        return now and not before

    def _is_sure(self, times: int) -> bool:
        """Say whether what was done is known for the step by what it was done to."""
        assert self.taken is not None
        if times > 1 or not self.misfit.action.targets:
            return True
        return all(
            is_in_field(point, self.taken.sight) if target.field is not None else self._is_called(target, point)
            for target, point in zip(self.misfit.action.targets, self.taken.points, strict=False)
        )

    def _is_called(self, target: Target, point: Point) -> bool:
        """Say whether what was pressed bears the target's words; where nothing is written on it, the model's count."""
        assert self.taken is not None
        written = texts_at(point, self.taken.sight) or [str(getattr(self.taken.call, "element", ""))]
        said = [plain(text) for text in written]
        words = [plain(fill(word, self.values)) for way in target.ways for word in (way.text, way.name) if word]
        pairs = [sorted((word, text), key=len) for word in words for text in said]
        return any(len(short) >= SHORTEST and short in long for short, long in pairs)

    def _is_new(self, after: Decision) -> bool:
        """Say whether the playbook goes on with something that was not there before."""
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
    """Say whether a point is in an input field, as it looks or as a program tells."""
    told = sight.elements.elements if sight.elements is not None else ()
    boxes = [*sight.fields, *(each.box for each in told if each.on_screen and each.role in FIELDS)]
    return any(box.contains(point) for box in boxes)


def texts_at(point: Point, sight: Sight) -> list[str]:
    """Return what is written at a point."""
    return [
        line.text
        for line in sight.lines
        if line.box.left - REACH <= point.x <= line.box.right + REACH
        and line.box.top - HEIGHT <= point.y <= line.box.bottom + HEIGHT
    ]


def _without_end(history: Sequence[Turn], failed: bool) -> Sequence[Turn]:
    """Return a history without the waits at its end, nor the failures if those are why it stopped."""
    end = len(history)
    while end and (history[end - 1].tool == "wait" or (failed and history[end - 1].failed)):
        end -= 1
    return history[:end]


def _writes(action: Action, call: WriteAtCall | WriteCall, values: Mapping[str, Value]) -> bool:
    return action.write is not None and fill(action.write.text, values) == call.content


def _is_kind(action: Action, call: AnyCall, values: Mapping[str, Value]) -> bool:
    """Say whether a call does what an action does, whatever to."""
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
            told = action.hold_and_tap_key
            return told is not None and ([*told.hold], [*told.tap]) == ([*call.hold_keys], [*call.tap_keys])
        case _:
            return False
