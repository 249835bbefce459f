"""Screens that differ only under a mask are the same for the model, for approvals and for the trace (I7)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from holo_tasks.core.errors import RedactionFailed
from holo_tasks.core.events import AnyEvent
from holo_tasks.core.ports import Redactor
from holo_tasks.core.screen.frame import Frame, Mask, RedactedFrame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.loop.walk import Walk
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter, paint_masks
from tests.support.long import few
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

SIZE, HIDDEN = Size(320, 200), Box(100, 40, 120, 60)
MASKS = [Mask("region", HIDDEN)]
SPENT = (
    "settle_us",
    "quiet_us",
    "capture_us",
    "redact_us",
    "encode_us",
    "perceive_us",
    "decide_us",
    "act_us",
    "total_us",
    "took_us",
)
CLICK = wrote(step("click", element="OK", x=500, y=500))
WAIT = wrote(step("wait", seconds=0.2))
ANSWER = wrote(step("answer", content="done"))
SCROLL = wrote(step("scroll", element="the list", x=500, y=500, direction="down", scroll_size=1))
SCRIPT = [CLICK, WAIT, *[SCROLL] * 8, ANSWER]


class Ticking:
    """A clock that advances only when it is read."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.01
        return self.now_s


class Screen(PaintedDesktop):
    """Draws a given text under the mask, chosen by the number of gestures. Nothing else changes."""

    def __init__(self, hidden: Callable[[int], str]) -> None:
        super().__init__()
        self._hidden = hidden

    async def look(self, *, after_action: bool = False) -> Frame:
        image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
        draw = ImageDraw.Draw(image)
        draw.text((20, 20), "balance", fill="black")
        draw.text((HIDDEN.left + 4, HIDDEN.top + 4), self._hidden(len(self.gestures)), fill="black",
                  font=ImageFont.load_default(size=24))  # fmt: skip
        return Frame(image.tobytes(), SIZE, self.display)


async def told(hidden: Callable[[int], str], redactor: Redactor) -> tuple[list[str], list[str], list[AnyEvent]]:
    """Return everything that a whole walk sends: its requests, its situations, and the trace without times."""
    client, recorder = MemoryModel(SCRIPT), MemoryRecorder()
    walk = walk_of(as_model(client), desktop=Screen(hidden), recorder=recorder, redactor=redactor, now_s=Ticking())
    situations: list[str] = []
    deciding = walk.decide

    async def decide(**options: bool) -> object:
        situations.append(walk.situation())
        return await deciding(**options)

    walk.decide = decide  # type: ignore[method-assign, assignment]
    await work(walk)
    events = [
        event.model_copy(update=dict.fromkeys((name for name in SPENT if hasattr(event, name)), 0))
        for event in recorder.events
    ]
    return [json.dumps(body) for body in client.bodies], situations, events


def always(text: str) -> Callable[[int], str]:
    return lambda gestures: text


def counting(gestures: int) -> str:
    return f"{4711 * gestures}"


async def differs(redactor: Callable[[], Redactor]) -> bool:
    """Return whether the output of three screens with different hidden texts differs."""
    seen = [await told(hidden, redactor()) for hidden in (always("1000.00"), always("2750.99"), counting)]
    return not seen[0] == seen[1] == seen[2]


class Blurred:
    """A naive redactor that blurs. The text can be recovered by comparing blurred guesses."""

    async def redact(self, frame: Frame) -> RedactedFrame:
        image = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
        corner = (HIDDEN.left, HIDDEN.top, HIDDEN.right, HIDDEN.bottom)
        image.paste(image.crop(corner).filter(ImageFilter.GaussianBlur(12)), corner)
        return RedactedFrame(replace(frame, rgb=image.tobytes()), tuple(MASKS))


class Pixelated:
    """A naive redactor that replaces squares of 20 pixels by their mean."""

    async def redact(self, frame: Frame) -> RedactedFrame:
        image = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
        corner = (HIDDEN.left, HIDDEN.top, HIDDEN.right, HIDDEN.bottom)
        small = image.crop(corner).resize((6, 3), Image.Resampling.BOX)
        image.paste(small.resize((HIDDEN.width, HIDDEN.height), Image.Resampling.NEAREST), corner)
        return RedactedFrame(replace(frame, rgb=image.tobytes()), tuple(MASKS))


async def test_screens_that_differ_only_under_a_mask_give_the_same_output() -> None:
    assert not await differs(lambda: Painter([FixedRegions(MASKS)]))


@pytest.mark.parametrize("naive", few([Blurred, Pixelated]))
async def test_blurring_and_pixelating_fail_this_check(naive: Callable[[], Redactor]) -> None:
    assert await differs(naive)


async def test_a_verdict_on_unredacted_pixels_would_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    looking = Walk.look

    async def naive(self: Walk, **options: object) -> object:
        seen = await looking(self, **options)  # type: ignore[arg-type]
        self.seen = replace(seen, redacted=seen.frame)
        return self.seen

    monkeypatch.setattr(Walk, "look", naive)
    assert await differs(lambda: Painter([FixedRegions(MASKS)]))


class Failing:
    """Finds the mask on the first screens, then fails."""

    def __init__(self, good: int) -> None:
        self._good = good

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        self._good -= 1
        if self._good < 0:
            raise OSError("the model's file is gone")
        return MASKS


class Lenient:
    """A naive redactor that passes the frame if a detector fails."""

    def __init__(self, good: int) -> None:
        self._masker = Failing(good)

    async def redact(self, frame: Frame) -> RedactedFrame:
        try:
            return paint_masks(frame, await self._masker.masks(frame))
        except OSError:
            return RedactedFrame(frame)


async def leaks(redactor: Redactor) -> bool:
    """Return whether a picture was stored or sent after the detector failed."""
    client, recorder = MemoryModel(SCRIPT), MemoryRecorder()
    walk = walk_of(as_model(client), desktop=Screen(counting), recorder=recorder, redactor=redactor, now_s=Ticking())
    with suppress(RedactionFailed):
        await work(walk)
    return len(recorder.shots) > 2 or len(client.bodies) > 2


@pytest.mark.parametrize("good", [0, 2])
async def test_nothing_is_sent_or_stored_after_a_detector_failed(good: int) -> None:
    assert not await leaks(Painter([Failing(good)]))
    assert await leaks(Lenient(good))


async def test_a_change_under_a_mask_does_not_end_a_wait() -> None:
    class Clock(Screen):
        looks = 0

        async def look(self, *, after_action: bool = False) -> Frame:
            self.looks += 1
            self._hidden = always(str(self.looks))
            return await super().look(after_action=after_action)

    desktop = Clock(counting)
    model, redactor = as_model(MemoryModel([WAIT, ANSWER])), Painter([FixedRegions(MASKS)])
    await work(walk_of(model, desktop=desktop, redactor=redactor, now_s=Ticking()))
    assert desktop.looks > 3
