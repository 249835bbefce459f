"""What a sub-goal makes of secrets: the model is told why one was not typed, the masker where one shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.errors import LimitReached, SecretRefused
from holo_tasks.core.geometry import Box
from holo_tasks.core.gestures import Gesture, Receipt, Typed
from holo_tasks.core.slip import Slip
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

FIELD = Typed(Box(10, 10, 50, 20), Box(0, 0, 70, 40), b"", b"")
WRITE, DONE = wrote(step("write", content="{{secret:pw}}")), wrote(step("answer", content="done"))


class Form(PaintedDesktop):
    """Has a field for secrets."""

    def __init__(self, fails: Exception | None = None) -> None:
        super().__init__()
        self.fails = fails

    async def do(self, gesture: Gesture, *, deadline: float | None = None, slip: Slip | None = None) -> Receipt:
        if self.fails is not None:
            raise self.fails
        return replace(await super().do(gesture, deadline=deadline, slip=slip), typed=(FIELD,))


async def test_a_secret_that_is_not_typed_here_is_told_to_the_model_which_goes_on() -> None:
    model, recorder = MemoryModel([WRITE, DONE]), MemoryRecorder()
    walk = walk_of(as_model(model), desktop=Form(SecretRefused("It is typed into xterm only. Nothing was typed.")))
    walk.doors = replace(walk.doors, recorder=recorder)
    assert (await work(walk)).text == "done"
    assert "typed into xterm only" in str(model.bodies[1]["messages"])
    assert [event.reason for event in recorder.of("action_failed")] == [
        "It is typed into xterm only. Nothing was typed."
    ]


async def test_fields_are_told_before_the_next_frame_is_taken() -> None:
    told: list[object] = []

    class Watched(Form):
        async def look(self, *, after_action: bool = False):
            told.append("look")
            return await super().look(after_action=after_action)

    walk = walk_of(as_model(MemoryModel([WRITE, DONE])), desktop=Watched())
    walk.doors = replace(walk.doors, typed=told.extend)
    await work(walk)
    assert told == ["look", FIELD, "look"]


async def test_fields_are_told_also_when_the_gesture_was_cut_short() -> None:
    error, told = LimitReached("Too late.", limit="timeout_seconds"), []
    error.typed = (FIELD,)
    walk = walk_of(as_model(MemoryModel([WRITE])), desktop=Form(error))
    walk.doors = replace(walk.doors, typed=told.extend)
    with pytest.raises(LimitReached):
        await work(walk)
    assert told == [FIELD]
