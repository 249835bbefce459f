"""Write a person's steps as the signed trace of a run: pictures, steps and the answer.

`unsure_steps` finds steps that no playbook can do, and `write_trace` writes the trace. Used by the recording command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from holo_tasks.by_hand.step_collector import HandStep, RecordedScreen
from holo_tasks.core import events
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.known_elements import TextFilter, redacted_element
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import Event
from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Scroll, Write
from holo_tasks.core.input.keynames import keysym
from holo_tasks.core.input.pressed_elements import hit_by
from holo_tasks.core.ports import Encoder, Redactor
from holo_tasks.core.prompts.tool_calls import (
    AnyCall,
    ClickCall,
    DoubleClickCall,
    DragAndDropCall,
    HotkeyCall,
    ScrollCall,
    WriteCall,
    label,
)
from holo_tasks.core.screen.frame import Frame, Mask, RedactedFrame, Shot
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.core.screen.verdicts import judge
from holo_tasks.core.version import __version__
from holo_tasks.loop.ask_model.take_picture import corners, frame_taken, shot_of
from holo_tasks.loop.event_values import plain

NAME_CHARACTERS, MOST_NOTCHES = 80, 50
BY_HAND = "Done by hand."


class TimedTrace(Protocol):
    """A trace that takes events with their time."""

    run_id: str

    async def keep(self, shot: Shot | Attachment) -> None:
        """Store a picture."""
        ...

    async def record(self, event: Event, at: str = "") -> None:
        """Append an event."""
        ...


@dataclass(frozen=True)
class RecordedSession:
    """A recorded session: the steps, the screen at the end, the goal and the answer."""

    steps: Sequence[HandStep]
    last: RecordedScreen
    goal: str
    answer: str
    display: str
    words: Mapping[int, str]
    """Words for the targets of steps, by step number."""
    unsure: Mapping[int, str] = field(default_factory=dict)
    """Why steps cannot be repeated from their pictures, by step number. The model does these steps."""


@dataclass(frozen=True)
class _Pictured:
    """The redacted picture of a screen: its digest, and the masks."""

    sha256: str
    masks: tuple[Mask, ...]


def unsure_steps(steps: Sequence[HandStep]) -> dict[int, str]:
    """Return the steps that cannot be repeated from their pictures, by number, with the reasons.

    Raises `InvalidUsage` without any steps.
    """
    if not steps:
        raise InvalidUsage("Nothing was done on the screen, so no playbook can be made. Record at least one step.")
    found = {step.number: _wrong(step, steps[place + 1 :]) for place, step in enumerate(steps)}
    return {number: why for number, why in found.items() if why}


def merged(steps: Sequence[HandStep]) -> list[HandStep]:
    """Return the steps as an agent would do them.

    A triple click before a text becomes a single click, and the text overwrites the field.
    """
    found: list[HandStep] = []
    for step in steps:
        before = found[-1].gesture if found else None
        if isinstance(step.gesture, Write) and isinstance(before, Click) and before.count > 2:
            found[-1] = replace(found[-1], gesture=Click(before.at))
            step = replace(step, gesture=replace(step.gesture, overwrite=True))
        found.append(step)
    return found


async def write_trace(
    session: RecordedSession, trace: TimedTrace, redactor: Redactor, encoder: Encoder, text_filter: TextFilter
) -> None:
    """Write the trace of a session, from its first event to its last."""
    await _Writer(session, trace, redactor, encoder, text_filter).write()


class CombinedRedactor:
    """Redactor that applies the redactor of the user, then masks the pixels of typed secrets."""

    def __init__(self, asked_for: Redactor, inked: Redactor) -> None:
        self._asked_for, self._inked = asked_for, inked

    async def redact(self, frame: Frame) -> RedactedFrame:
        """Return a frame with the masks of both redactors."""
        first = await self._asked_for.redact(frame)
        second = await self._inked.redact(first.frame)
        return replace(first, frame=second.frame, masks=(*first.masks, *second.masks))


class _Writer:
    def __init__(
        self, story: RecordedSession, trace: TimedTrace, redactor: Redactor, encoder: Encoder, tell: TextFilter
    ) -> None:
        self._story, self._trace, self._redactor, self._encoder, self._tell = story, trace, redactor, encoder, tell
        self._newest: tuple[RecordedScreen, _Pictured] | None = None

    async def write(self) -> None:
        story, steps = self._story, self._story.steps
        first, end = steps[0].before.at, max(story.last.at, steps[-1].begun.at)
        await self._trace.record(
            events.RunOpened(
                run_id=self._trace.run_id,
                title=story.goal,
                library=f"prefect-holo {__version__}",
                display=story.display,
            ),
            first,
        )
        opened = events.SubgoalOpened(subgoal=1, title=story.goal, goal=story.goal, display=story.display)
        await self._trace.record(opened, first)
        afters = [*(step.before for step in steps[1:]), story.last]
        for number, (step, after) in enumerate(zip(steps, afters, strict=True), start=1):
            await self._step(number, step, after)
        count = len(steps)
        await self._show(count + 1, story.last)
        answer: dict[str, Any] = {"content": story.answer}
        await self._decided(count + 1, "answer", answer, "answer", end)
        closed: dict[str, Any] = {"status": "answered", "answer": story.answer, "steps": count, "cost_micro_usd": 0}
        await self._trace.record(events.SubgoalClosed(subgoal=1, layer="person", **closed), end)
        await self._trace.record(events.RunClosed(**closed), end)

    async def _step(self, number: int, step: HandStep, after: RecordedScreen) -> None:
        pictured = await self._show(number, step.before)
        gesture, at = step.gesture, step.begun.at
        call = call_of(gesture, step.before.size, self._story.words.get(step.number, ""))
        arguments = call.model_dump(exclude={"tool_name"})
        await self._decided(number, call.tool_name, arguments, label(call), at, self._story.unsure.get(step.number, ""))
        where = {"subgoal": 1, "step": number}
        await self._trace.record(
            events.ActionIntended(
                **where,
                gesture_kind=type(gesture).__name__.lower(),
                gesture=plain(asdict(gesture)),
                label=label(call),
                before=pictured.sha256,
                element=self._hit(step, pictured.masks),
            ),
            at,
        )
        await self._trace.record(events.ActionDone(**where, took_us=0, input_events=0), at)
        came = await self._show(number, after)
        verdict = judge(step.before.whole(), after.whole())
        await self._trace.record(
            events.Judged(
                **where,
                outcome=verdict.outcome,
                before=pictured.sha256,
                after=came.sha256,
                changed_box=corners(verdict.box),
            ),
            after.at,
        )

    async def _decided(
        self, number: int, tool: str, arguments: dict[str, Any], said: str, at: str, unsure: str = ""
    ) -> None:
        told = {"tool_name": tool, "arguments": arguments, "label": said, "unsure": unsure}
        decided = events.Decided(subgoal=1, step=number, note=None, thought=BY_HAND, **told)
        await self._trace.record(decided, at)

    async def _show(self, number: int, shown: RecordedScreen) -> _Pictured:
        """Store the picture of a screen, unless it is the one stored last."""
        if self._newest is not None and self._newest[0] is shown:
            return self._newest[1]
        frame = shown.whole()
        redacted = await self._redactor.redact(frame)
        shot = await shot_of(redacted, self._encoder, None)
        await self._trace.keep(shot)
        taken = frame_taken(frame, shot, redacted, self._tell)
        await self._trace.record(taken.model_copy(update={"subgoal": 1, "step": number}), shown.at)
        pictured = _Pictured(shot.sha256, redacted.masks)
        self._newest = shown, pictured
        return pictured

    def _hit(self, step: HandStep, masks: Sequence[Mask]) -> dict[str, str]:
        tree = step.before.tree
        element = hit_by(tree, step.gesture)
        if element is None:
            return {}
        facts = anchors_of(tree, element, lambda each: redacted_element(tree, each, masks, self._tell))
        return {fact: text[:NAME_CHARACTERS] for fact, text in facts.items()}


def call_of(gesture: Gesture, size: Size, words: str) -> AnyCall:
    """Return the call with which a model would make a gesture."""
    element = words or "what is there"

    def at(point: Point, across: str = "x", down: str = "y") -> dict[str, int]:
        return {across: round(1000 * point.x / size.width), down: round(1000 * point.y / size.height)}

    match gesture:
        case Click(point, count=2):
            return DoubleClickCall(tool_name="double_click", element=element, **at(point))
        case Click(point, button):
            return ClickCall(tool_name="click", element=element, button=button, **at(point))
        case Drag(start, end):
            ends = at(start, "x1", "y1") | at(end, "x2", "y2")
            return DragAndDropCall(tool_name="drag_and_drop", element=element, **ends)
        case Scroll(point, direction, notches):
            turned = min(notches, MOST_NOTCHES)
            return ScrollCall(tool_name="scroll", element=element, direction=direction, scroll_size=turned, **at(point))
        case Write(text, overwrite, press_enter):
            return WriteCall(tool_name="write", content=text, overwrite=overwrite, press_enter=press_enter)
        case Hotkey(keys, repeat):
            return HotkeyCall(tool_name="hotkey", keys=[*keys], repeat_count=repeat)
        case _:
            raise AssertionError(f"{gesture} cannot be done by hand")


def _wrong(step: HandStep, later: Sequence[HandStep]) -> str:
    """Return why a step cannot be repeated, as a sentence. Returns an empty string if it can be."""
    match step.gesture:
        case Click() | Drag() | Scroll() if step.begun.hurried:
            return "it began before the screen had settled after the previous step, so its target is unknown"
        case Click(count=count) if count > 2 and not (later and isinstance(later[0].gesture, Write)):
            return f"it is {count} presses in a row"
    return in_no_playbook(step)


def in_no_playbook(step: HandStep) -> str:
    """Return why a playbook cannot do a step, whatever follows it. Returns an empty string if it can."""
    match step.gesture:
        case Click(button=button) | Drag(button=button) if button == "middle":
            return "it is a press of the middle button, which a playbook cannot do"
        case Hotkey(keys) if unknown := next(_unknown(keys), ""):
            return f"it presses a key without a known name ({unknown})"
    return ""


def _unknown(keys: Sequence[str]) -> Iterator[str]:
    for key in keys:
        try:
            keysym(key)
        except InvalidUsage:
            yield key
