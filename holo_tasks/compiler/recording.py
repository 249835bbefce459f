"""Read the answered sub-goals of a trace: their steps, with the pictures before and after each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holo_tasks.audit.reader import Trace
from holo_tasks.core import events
from holo_tasks.core.input.pressed_elements import FIELDS
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.outside_text import apart
from holo_tasks.core.texts.typed_text import INVALID, SAME_VALUE

POINTS = {"click": ("at",), "move": ("to",), "drag": ("start", "end"), "scroll": ("at",), "write": ("at",)}
"""The names of the points of each kind of gesture."""
TALLEST_FIELD = 60
"""A click into a field of one line changes at most this height, in pixels."""
NEAR = 8
"""Largest distance, in pixels, of a click in a field above or below its text or caret."""
LABEL_ENDS = " :*"
"""Signs around a label that the name of its field may lack."""


@dataclass(frozen=True)
class Picture:
    """A picture in a trace: its name, the part of the screen that it shows, and the size in which it was sent.

    ``masks`` are the masked boxes in screen pixels. ``windows`` are window titles, the topmost first.
    """

    sha256: str
    area: Box
    sent: Size
    masks: tuple[Box, ...] = ()
    windows: tuple[str, ...] = field(default=(), compare=False)

    def on_picture(self, point: Point) -> Point:
        """Return the position of a screen pixel on the picture."""
        return Point(
            (point.x - self.area.left) * self.sent.width // self.area.width,
            (point.y - self.area.top) * self.sent.height // self.area.height,
        )

    def box_on_picture(self, box: Box) -> Box:
        """Return the position of a box of the screen on the picture."""
        start, end = self.on_picture(Point(box.left, box.top)), self.on_picture(Point(box.right, box.bottom))
        return Box(start.x, start.y, end.x - start.x, end.y - start.y)


@dataclass(frozen=True)
class RecordedStep:
    """A completed step: the tool, its arguments, its points on the picture ``before``, and the picture ``after`` it."""

    number: int
    tool: str
    arguments: Mapping[str, Any]
    thought: str
    before: Picture
    after: Picture
    points: tuple[Point, ...] = ()
    waited: int = 0
    """How often the model waited right after the step."""
    element: Mapping[str, str] = field(default_factory=dict)
    """Role, name and further facts of the control that was hit (`anchors_of`). Empty if its program reports none."""
    picture: Path | None = None
    """The file with a picture of the control, or of its words."""
    begun_at: str = ""
    came_to: str = ""
    """The states before the step and before the next step. Empty if a state is unknown."""
    field_holds: str = ""
    """The text of the field after typing, if it differs in value from the typed text."""
    changed: Box | None = None
    """The part of the screen that the step changed, in pixels of the picture. ``None`` if nothing changed."""
    unsure: str = ""
    """Why a person's step cannot be repeated from its picture. Empty for any other step."""
    icon: Path | None = None
    """A picture of a pressed icon. Other rows may have the same icon, and it may do something else than the text of its
    row."""
    sign: Path | None = None
    """A picture of the sign that was pressed in a cell, such as a cross, if it clearly differs after the step."""
    typed_into: bool = False
    """Whether the next step types a text, perhaps after keys, so that this press selected a field."""
    of_next: bool = False
    """Whether ``element`` is the field that got the text after a click, because no element was read for the click."""


@dataclass(frozen=True)
class Recording:
    """An answered sub-goal of a run. ``last`` is the picture that the answer was given on."""

    trace: str
    digest: str
    goal: str
    title: str
    data: Mapping[str, Any]
    steps: tuple[RecordedStep, ...]
    answer: str
    last: Picture
    subgoal: int = 0
    ended_at: str = ""
    """The state in which the answer was given."""
    press_once: tuple[str, ...] = ()
    """The labels of the controls that have the effect, as declared by the caller of the run."""

    @property
    def pictures(self) -> Iterator[Picture]:
        """Yield the pictures before and after all steps, each once."""
        every = [picture for step in self.steps for picture in (step.before, step.after)]
        yield from dict.fromkeys([*every, self.last])


@dataclass
class _OpenSubgoal:
    """A sub-goal that is being read."""

    opened: events.SubgoalOpened
    pictures: dict[str, Picture] = field(default_factory=dict)
    decided: events.Decided | None = None
    intended: events.ActionIntended | None = None
    is_done: bool = False
    steps: list[RecordedStep] = field(default_factory=list)
    last: Picture | None = None
    answered_on: Picture | None = None
    state: str = ""
    begun_at: str = ""


def recordings(trace: Trace, digest: str, *, idle: bool = False) -> list[Recording]:
    """Return the answered sub-goals of a trace that contain a step. With ``idle``, those without steps too.

    ``digest`` is the digest of the last record, which identifies the run. The trace must have been verified.
    """
    found = _answered_subgoals(trace.uri, digest, (record.event for record in trace.records()))
    return [one for one in found if one.steps or idle]


def _answered_subgoals(uri: str, digest: str, recorded: Iterable[events.Event]) -> Iterator[Recording]:
    under_way: dict[int, _OpenSubgoal] = {}
    for event in recorded:
        if isinstance(event, events.SubgoalOpened):
            under_way[event.subgoal] = _OpenSubgoal(event)
        elif (one := under_way.get(event.subgoal)) is None:
            continue
        elif isinstance(event, events.SubgoalClosed):
            del under_way[event.subgoal]
            if event.status == "answered" and not event.skipped and one.answered_on is not None:
                yield _closed(one, event, uri, digest)
        else:
            _add_event(one, event)


def _closed(one: _OpenSubgoal, event: events.SubgoalClosed, uri: str, digest: str) -> Recording:
    assert one.answered_on is not None
    goal, data = apart(one.opened.goal)
    known = [*map(_with_field_of, one.steps, [*one.steps[1:], None])]
    steps = tuple(replace(step, typed_into=_is_typed_after(known[n:])) for n, step in enumerate(known, 1))
    answer = event.answer
    title, number, once = one.opened.title, one.opened.subgoal, tuple(one.opened.press_once)
    return Recording(uri, digest, goal.strip(), title, data, steps, answer, one.answered_on, number, one.begun_at, once)


def _with_field_of(step: RecordedStep, following: RecordedStep | None) -> RecordedStep:
    """Return a click with the field that got the text after it, if the click was in this field or on its label.

    The program may have reported its elements too late for the click. A click elsewhere, such as on *New*, may also
    put the keyboard into a field.
    """
    if step.tool != "click" or following is None or following.tool != "write" or following.points:
        return step
    role, there = step.element.get("role", ""), following.element
    opens = step.changed is not None and step.changed.height > TALLEST_FIELD
    if opens or step.unsure or there.get("role") not in FIELDS:
        return step
    if role == "label":
        return replace(step, element=there) if is_label_of(step.element.get("name", ""), there) else step
    return step if role or not _is_in_field(step, following) else replace(step, element=there, of_next=True)


def is_label_of(text: str, facts: Mapping[str, str]) -> bool:
    """Return whether a text is the name, the label or the hint of a field with these facts (`anchors_of`)."""
    labels = {facts.get(fact, "").strip(LABEL_ENDS).casefold() for fact in ("name", "right_of", "below", "holds")}
    return text.strip(LABEL_ENDS).casefold() in labels - {""}


def _is_in_field(step: RecordedStep, following: RecordedStep) -> bool:
    """Return whether a click, and the text after it, changed the row of the click only, as in a field of one line.

    A text with Enter may change the whole screen, so such a change does not tell.
    """
    areas = [one.changed for one in (step, following) if one.changed and one.changed.height <= TALLEST_FIELD]
    return bool(areas) and all(area.top - NEAR <= at.y < area.bottom + NEAR for area in areas for at in step.points)


def _is_typed_after(steps: Sequence[RecordedStep]) -> bool:
    return next((step.tool for step in steps if step.tool != "hotkey"), "") == "write"


def _add_event(one: _OpenSubgoal, event: events.Event) -> None:
    match event:
        case events.FrameTaken():
            screen = Size(event.screen_width, event.screen_height)
            area = Box(*event.region) if event.region else Box.whole(screen)
            masks = tuple(Box(*mask.box) for mask in event.masks)
            sent = Size(event.sent_width, event.sent_height)
            one.last = Picture(event.sha256, area, sent, masks, tuple(event.windows))
            one.pictures[event.sha256] = one.last
        case events.Decided():
            one.decided, one.intended, one.is_done, one.begun_at = event, None, False, one.state
            if one.steps:
                one.steps[-1] = replace(one.steps[-1], came_to=one.state)
            if event.tool_name == "answer":
                one.answered_on = one.last
        case events.ActionIntended() if one.intended is None:  # a repeated click counts as one step
            one.intended = event
        case events.ActionDone():
            one.is_done = True
        case events.StateSeen():
            one.state = event.state
        case events.Judged() if one.is_done:
            one.state = event.state
            _add_step(one, event)
        case events.FieldRead(outcome=outcome) if one.steps and outcome not in SAME_VALUE:
            one.steps[-1] = replace(one.steps[-1], field_holds=event.held)
        case events.FieldRead(why=why) if one.steps and why == INVALID:  # this program rejects no such text later
            one.steps[-1] = replace(one.steps[-1], field_holds="*")


def _add_step(one: _OpenSubgoal, judged: events.Judged) -> None:
    decided, intended = one.decided, one.intended
    if decided is None or intended is None:
        return
    one.is_done = False
    if decided.tool_name == "wait":
        if one.steps:
            one.steps[-1] = replace(one.steps[-1], waited=one.steps[-1].waited + 1, after=one.pictures[judged.after])
        return
    gesture = intended.gesture
    points = [gesture.get(name) for name in POINTS.get(intended.gesture_kind, ())]
    before = one.pictures[intended.before]
    one.steps.append(
        RecordedStep(
            decided.step,
            decided.tool_name,
            decided.arguments,
            decided.thought,
            before,
            one.pictures[judged.after],
            tuple(before.on_picture(_point(at)) for at in points if isinstance(at, dict)),
            element=intended.element,
            begun_at=one.begun_at,
            changed=before.box_on_picture(Box(*judged.changed_box)) if judged.changed_box else None,
            unsure=decided.unsure,
        )
    )


def _point(point: Mapping[str, Any]) -> Point:
    return Point(int(point["x"]), int(point["y"]))
