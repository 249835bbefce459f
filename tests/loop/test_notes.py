"""Events are written in the background, but all earlier ones are durable before a request or input is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.events import Event
from holo_tasks.core.input.gestures import Gesture, Pause
from holo_tasks.core.ports import Reply
from holo_tasks.core.screen.frame import Shot
from holo_tasks.loop.durable_notes import Notes
from tests.support.painted_desktop import PaintedDesktop
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

ANSWER = {"thought": "", "tool_call": {"tool_name": "answer", "content": "done"}}
OK = {"thought": "", "tool_call": {"tool_name": "click", "element": "OK button", "x": 500, "y": 500}}


class SlowDisk(MemoryRecorder):
    """A recorder with a slow disk that writes events in order and fails for one kind of event."""

    def __init__(self, fails: str = "") -> None:
        super().__init__()
        self.durable: list[Any] = []
        self._turn = asyncio.Lock()
        self._fails = fails

    async def keep(self, shot: Shot | Attachment) -> None:
        await super().keep(shot)
        await self._written(shot)

    async def record(self, event: Event) -> None:
        await super().record(event)
        await self._written(event)

    async def _written(self, what: Any) -> None:
        async with self._turn:
            for _ in range(20):
                await asyncio.sleep(0)
            if getattr(what, "kind", "shot") == self._fails:
                raise EvidenceFailed("the disk is full")
            self.durable.append(what)

    @property
    def all_durable(self) -> bool:
        return len(self.durable) == len(self.events) + len(self.shots)


async def test_all_earlier_events_are_durable_before_input_and_before_a_request() -> None:
    disk, found = SlowDisk(), []

    def replied(number: int, body: Mapping[str, Any]) -> Reply:
        found.append(("request", disk.all_durable, disk.durable[-1].kind))
        return wrote(OK if number < 3 else ANSWER)

    def sent(gesture: Gesture) -> None:
        if not isinstance(gesture, Pause):
            found.append(("input", disk.all_durable, disk.durable[-1].kind))

    desktop = PaintedDesktop(sent)
    await work(walk_of(as_model(MemoryModel(replied)), desktop=desktop, recorder=disk))
    asked, pressed = ("request", True, "request"), ("input", True, "action")
    assert found == [asked, pressed] * 3 + [asked]


async def test_events_are_recorded_in_order() -> None:
    disk = SlowDisk()
    script = [wrote(OK), wrote(ANSWER)]
    await work(walk_of(as_model(MemoryModel(script)), recorder=disk))
    first = ["frame", "request", "reply", "decision", "permit", "action", "receipt"]
    assert [event.kind for event in disk.events] == [*first, "frame", "verdict", "step_timed", *first[1:4]]


@pytest.mark.parametrize("kind", ["shot", "frame", "reply", "decision", "permit"])
async def test_no_input_is_sent_if_an_earlier_event_cannot_be_recorded(kind: str) -> None:
    desktop, model = PaintedDesktop(), MemoryModel([wrote(OK)])
    with pytest.raises(EvidenceFailed):
        await work(walk_of(as_model(model), desktop=desktop, recorder=SlowDisk(kind)))
    assert desktop.gestures == []
    assert len(model.bodies) == (0 if kind in ("shot", "frame") else 1)


@pytest.mark.parametrize("kind", ["receipt", "verdict", "step_timed"])
async def test_no_request_is_sent_if_an_earlier_event_cannot_be_recorded(kind: str) -> None:
    desktop, model = PaintedDesktop(), MemoryModel([wrote(OK)])
    with pytest.raises(EvidenceFailed):
        await work(walk_of(as_model(model), desktop=desktop, recorder=SlowDisk(kind)))
    assert len(desktop.gestures) == len(model.bodies) == 1


@pytest.mark.parametrize("kind", ["shot", "frame", "reply", "decision"])
async def test_no_answer_is_returned_if_it_cannot_be_recorded(kind: str) -> None:
    with pytest.raises(EvidenceFailed):
        await work(walk_of(as_model(MemoryModel([wrote(ANSWER)])), recorder=SlowDisk(kind)))


async def test_a_submitted_event_keeps_its_place_and_is_not_withdrawn() -> None:
    notes, given, go = Notes(), [], asyncio.Event()

    async def write(number: int) -> None:
        given.append(number)
        await go.wait()
        given.append(-number)

    await notes.begin(write(1))
    assert given == [1]
    waiting = asyncio.ensure_future(notes.wait_until_durable())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await notes.begin(write(2))
    go.set()
    await notes.wait_until_durable()
    assert sorted(given) == [-2, -1, 1, 2]
    await notes.wait_until_durable()
