"""Signed traces of runs on a program of painted pages, made without a desktop, a model or Prefect."""

from __future__ import annotations

import asyncio
import functools
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from PIL import Image, ImageDraw, ImageFont

from holo_tasks.audit import Destination
from holo_tasks.core import events
from holo_tasks.core.screen.frame import Frame, Mask, RedactedFrame, Shot
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.typed_text import INVALID
from holo_tasks.loop.ask_model.take_picture import frame_taken
from holo_tasks.models.encoding import JpegEncoder
from holo_tasks.safety.redaction import paint_masks
from holo_tasks.vision.ocr_reader import Reader, Reading
from holo_tasks.vision.screen_text import Sight

SIZE = Size(720, 420)
FONT = ImageFont.truetype("DejaVuSans.ttf", 16)
GREY, WHITE, BLACK = (195, 195, 195), (255, 255, 255), (0, 0, 0)


Made = TypeVar("Made")


class OfPages(Generic[Made]):
    """Cache of objects made from pages. Equal pages share one, because tests record the same pages again and again."""

    def __init__(self) -> None:
        self._made: dict[str, Made] = {}

    def of(self, one: Page, make: Callable[[], Made]) -> Made:
        """Return the cached object of an equal page, or make it."""
        key = repr(one)
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


_PICTURES, _REDACTED, _SHOTS = OfPages[Image.Image](), OfPages[RedactedFrame](), OfPages[Shot]()
_SIGHTS = OfPages[Sight]()


@dataclass(frozen=True)
class Page:
    """A page of a program: texts by their upper left corners, and fields by position with their contents.

    ``icons`` are buttons with a drawing and no words, ``frames`` boxes around something. ``masks`` are the areas that
    redaction paints over. ``windows`` are the titles of the windows, ``state`` is the recognized state of the screen.
    """

    texts: Mapping[tuple[int, int], str]
    fields: Mapping[tuple[int, int], str]
    icons: tuple[tuple[int, int], ...] = ()
    frames: tuple[Box, ...] = ()
    masks: tuple[Box, ...] = ()
    windows: tuple[str, ...] = ()
    state: str = ""

    @property
    def picture(self) -> Image.Image:
        """Return the page as it looks on the screen."""
        return _PICTURES.of(self, self._painted).copy()  # a copy, because callers may draw on it

    def _painted(self) -> Image.Image:
        picture = Image.new("RGB", (SIZE.width, SIZE.height), GREY)
        draw = ImageDraw.Draw(picture)
        for (left, top), text in self.fields.items():
            draw.rectangle((left, top, left + 220, top + 24), WHITE, BLACK)
            draw.text((left + 6, top + 3), text, BLACK, FONT)
        for box in self.frames:
            draw.rectangle((box.left, box.top, box.right, box.bottom), "#b0c4b0", "#404040")
        for left, top in self.icons:
            draw.rectangle((left, top, left + 35, top + 35), "#d8d8d8", "#505050")
            draw.ellipse((left + 7, top + 7, left + 20, top + 20), "#e8e8e8", "#103060", 3)
            draw.line((left + 19, top + 19, left + 29, top + 29), "#103060", 5)
        for place, text in self.texts.items():
            draw.text(place, text, BLACK, FONT)
        return picture

    @property
    def redacted(self) -> RedactedFrame:
        """Return the captured page with its masks painted over."""
        masks = [Mask("text", box) for box in self.masks]
        return _REDACTED.of(self, lambda: paint_masks(Frame(self.picture.tobytes(), SIZE, ":0"), masks))

    @property
    def shot(self) -> Shot:
        """Return the page in the form that a model gets."""
        return _SHOTS.of(self, lambda: JpegEncoder().encode(self.redacted))

    def place(self, text: str) -> Point:
        """Return the click position for a text, or for the field next to it."""
        (left, top) = next(place for place, written in self.texts.items() if written == text)
        beside = next((place for place in self.fields if abs(place[1] - top) < 12), None)
        return Point(beside[0] + 40, beside[1] + 10) if beside else Point(left + 15, top + 10)


@dataclass(frozen=True)
class Act:
    """An action on a page: a click on a text (or its field), or typing. Then the next page shows."""

    page: Page
    click: str = ""
    write: str | None = None
    at: Point | None = None
    element: Mapping[str, str] = field(default_factory=dict)
    """The element name that the program reports at the position of the click."""
    holds: str = ""
    """The text of the field after the typing, if it differs from the typed text."""
    is_invalid: bool = False
    """Whether the program marks the field as invalid after the typing."""
    enter: bool = False
    """Whether Enter follows the typed text."""
    flash: Page | None = None
    """A page that shows for a moment after the action, before the next page."""
    changed: Box | None = None
    """The part of the screen that the action changed, if the trace has it."""


def page(*texts: tuple[int, int, str], fields: Sequence[tuple[int, int, str]] = ()) -> Page:
    """Return a page with texts and fields, each given as left, top and text."""
    return Page({(x, y): text for x, y, text in texts}, {(x, y): text for x, y, text in fields})


@dataclass(frozen=True)
class Part:
    """A sub-goal of a run: its actions, its last page, and its answer."""

    goal: str
    acts: Sequence[Act]
    last: Page
    answer: Any
    press_once: Sequence[str] = ()


def record(
    home: Path,
    run_id: str,
    goal: str,
    acts: Sequence[Act],
    last: Page,
    answer: Any,
    *,
    status: events.Status = "answered",
    press_once: Sequence[str] = (),
) -> str:
    """Write the trace of a run with these actions; return its folder."""
    return record_parts(home, run_id, Part(goal, acts, last, answer, press_once), status=status)


def record_parts(home: Path, run_id: str, *parts: Part, status: events.Status = "answered") -> str:
    """Write the trace of a run with some sub-goals in order; return its folder."""
    return asyncio.run(_record(home, run_id, parts, status))


async def _record(home: Path, run_id: str, parts: Sequence[Part], status: events.Status) -> str:
    recorder = Destination.parse(str(home / "runs")).open(run_id, home=home)
    title = parts[0].goal
    await recorder.record(events.RunOpened(run_id=run_id, title=title, library="test", signed_by=recorder.fingerprint))
    for number, part in enumerate(parts, start=1):
        await _record_part(recorder, number, part, status)
    said, steps = _said(parts[-1]), sum(len(part.acts) + 1 for part in parts)
    await recorder.record(events.RunClosed(status=status, answer=said, steps=steps, cost_micro_usd=0))
    await recorder.close()
    return str(recorder.uri)


async def _record_part(recorder: Any, subgoal: int, part: Part, status: events.Status) -> None:
    pages = [*(act.page for act in part.acts), part.last]
    shots = [one.shot for one in pages]

    async def tell(event: events.Event, step: int) -> None:
        await recorder.record(event.model_copy(update={"subgoal": subgoal, "step": step}))

    async def frame(one: Page, shot: Shot, step: int) -> None:
        await recorder.keep(shot)
        taken = frame_taken(one.redacted.frame, shot, one.redacted)
        await tell(taken.model_copy(update={"windows": list(one.windows)}), step)

    await tell(events.SubgoalOpened(title=part.goal, goal=part.goal, press_once=list(part.press_once)), 0)
    await frame(pages[0], shots[0], 0)
    if pages[0].state:
        await tell(events.StateSeen(state=pages[0].state), 0)
    for number, (act, before, after) in enumerate(zip(part.acts, shots, shots[1:], strict=False), start=1):
        tool, arguments, kind, gesture = _told(act)
        await tell(
            events.Decided(note=None, thought="Going on.", tool_name=tool, arguments=arguments, label=tool), number
        )
        done = {"gesture_kind": kind, "gesture": gesture, "before": before.sha256, "element": dict(act.element)}
        await tell(events.ActionIntended.model_validate(done | {"label": tool}), number)
        await tell(events.ActionDone(took_us=1, input_events=1), number)
        seen, after = (pages[number], after) if act.flash is None else (act.flash, act.flash.shot)
        await frame(seen, after, number)
        outcome = "changed" if before.sha256 != after.sha256 else "unchanged"
        judged = {"outcome": outcome, "before": before.sha256, "after": after.sha256}
        judged |= {"changed_box": [] if act.changed is None else [*astuple(act.changed)]}
        judged |= {"state": pages[number].state}
        await tell(events.Judged.model_validate(judged), number)
        if act.flash is not None:
            await frame(pages[number], shots[number], number)
        if act.holds:
            await tell(events.FieldRead(outcome="completed", held=act.holds, by="accessibility"), number)
        if act.is_invalid:
            await tell(events.FieldRead(outcome="exact", by="accessibility", why=INVALID), number)
    said, steps = _said(part), len(part.acts) + 1
    told = {"note": None, "thought": "Done.", "tool_name": "answer", "arguments": {"content": said}, "label": "answer"}
    await tell(events.Decided.model_validate(told), steps)
    await tell(events.SubgoalClosed(status=status, answer=said, steps=steps, cost_micro_usd=0, layer="model"), steps)


def _said(part: Part) -> str:
    return part.answer if isinstance(part.answer, str) else json.dumps(part.answer)


def _told(act: Act) -> tuple[str, dict[str, Any], str, dict[str, Any]]:
    if act.write is not None:
        told = {"content": act.write, "overwrite": True, "press_enter": act.enter}
        return "write", told, "write", {"text": act.write, "at": None}
    at = act.at or act.page.place(act.click)
    place = {"x": at.x * 1000 // SIZE.width, "y": at.y * 1000 // SIZE.height}
    told = {"element": act.click, **place, "button": "left"}
    return "click", told, "click", {"at": {"x": at.x, "y": at.y}, "button": "left", "count": 1}


class PageReader(Reader):
    """Reads each picture once and remembers all pictures; the product's reader forgets all but the last few."""

    def __init__(self) -> None:
        super().__init__()
        self._read: dict[tuple[bytes, tuple[int, int]], Reading] = {}

    def read(self, picture: Image.Image) -> Reading:
        """Return the reading of a picture, from memory if it was read before."""
        picture = picture.convert("RGB")
        key = picture.tobytes(), picture.size
        if key not in self._read:
            self._read[key] = super().read(picture)
        return self._read[key]


@functools.cache
def page_reader() -> PageReader:
    """Return the reader that all tests of this process share."""
    return PageReader()


def sight_of(one: Page) -> Sight:
    """Return the texts and fields that OCR finds on a page."""

    def read() -> Sight:
        with io.BytesIO(one.shot.data) as data, Image.open(data) as picture:
            return page_reader().read(picture).sight

    return _SIGHTS.of(one, read)
