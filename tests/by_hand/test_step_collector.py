"""A person's work becomes a recording: the steps, the screen before each, secrets, and steps that no playbook can
repeat.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from holo_tasks.audit import Destination
from holo_tasks.audit.reader import open_trace
from holo_tasks.audit.recorder import new_run_id, now
from holo_tasks.by_hand.progress import StepReporter
from holo_tasks.by_hand.step_collector import DelayingDesktop, HandStep, InputStart, RecordedScreen, StepCollector
from holo_tasks.by_hand.trace_writer import CombinedRedactor, RecordedSession, merged, unsure_steps, write_trace
from holo_tasks.by_hand.typed_secrets import TypedSecretRedactor, by_name, into_empty, secrets_in
from holo_tasks.cli.compile import compile_traces
from holo_tasks.compiler.recording import recordings
from holo_tasks.core.elements.elements import FOCUSED, PASSWORD, SHOWING, Element, ElementTree
from holo_tasks.core.elements.known_elements import as_it_is
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Click, Gesture, Hotkey, Write
from holo_tasks.core.input.keynames import RETURN, TAB, of_character
from holo_tasks.core.input.remote_input import ByHand, Key, Pointing
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.models.encoding import PngEncoder
from holo_tasks.safety.redaction import NothingToRedact, Painter
from holo_tasks.vision.ocr_reader import Reader
from tests.support.recorded_runs import SIZE, Page, page

EMPTY = page((20, 20, "SIGN ON"), (20, 80, "User"), (20, 120, "Password"), fields=[(150, 78, ""), (150, 118, "")])
NAMED = page(
    (20, 20, "SIGN ON"), (20, 80, "User"), (20, 120, "Password"), fields=[(150, 78, "annabel"), (150, 118, "")]
)
FILLED = page(
    (20, 20, "SIGN ON"), (20, 80, "User"), (20, 120, "Password"), fields=[(150, 78, "annabel"), (150, 118, "•••••••••")]
)
MENU = page((20, 20, "MAIN MENU"), (20, 80, "Welcome"))
USER, PASSWORD_FIELD = Point(200, 90), Point(200, 130)
VALUE = "tulip-9aX"


class Screen:
    """A desktop that always shows the first of its pages."""

    held = True

    def __init__(self, *pages: Page, slow_s: float = 0.0) -> None:
        self.pages, self.done, self.slow_s = list(pages), list[ByHand](), slow_s

    async def look(self, after_action: bool = False) -> Frame:
        await asyncio.sleep(self.slow_s)
        picture = self.pages[0].picture
        return Frame(picture.tobytes(), SIZE, ":0", taken_at_ns=time.time_ns())

    async def elements(self) -> ElementTree:
        return ElementTree(complete=False)

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        self.done += inputs

    async def hold(self) -> None: ...

    async def release(self) -> None: ...

    async def open_vnc(self) -> Path:
        raise NotImplementedError

    async def close_vnc(self, path: Path) -> None:
        raise NotImplementedError


def press(at: Point) -> list[ByHand]:
    return [Pointing(at.x, at.y, 1), Pointing(at.x, at.y, 0)]


def keys(*symbols: str | int) -> list[ByHand]:
    codes = [of_character(one) if isinstance(one, str) else one for one in symbols]
    return [Key(code, down) for code in codes for down in (True, False)]


def shown(one: Page, *elements: Element) -> RecordedScreen:
    return RecordedScreen.of(Frame(one.picture.tobytes(), SIZE, ":0"), ElementTree(elements), 0, now())


def step(number: int, gesture: Gesture, before: RecordedScreen, *, hurried: bool = False) -> HandStep:
    return HandStep(number, gesture, InputStart(0.0, now(), 0, before, hurried))


def signed_on(last: Page = MENU) -> tuple[list[HandStep], RecordedScreen]:
    """Return the steps of a sign-on, and the last screen."""
    empty, named, filled = shown(EMPTY), shown(NAMED), shown(FILLED)
    steps = [
        step(1, Click(USER), empty),
        step(2, Write("annabel"), empty),
        step(3, Click(PASSWORD_FIELD), named),
        step(4, Write(VALUE), named),
        step(5, Hotkey(("enter",)), filled),
    ]
    return steps, shown(last)


async def test_each_step_waits_for_a_settled_screen_before_it() -> None:
    screen, told = Screen(EMPTY), list[HandStep]()
    sitting = StepCollector(screen, told.append, now)
    await sitting.fresh()
    desktop = DelayingDesktop(screen, sitting)
    await desktop.by_hand(press(USER))
    await desktop.by_hand(keys(*"ann"))
    screen.pages = [NAMED]
    await desktop.by_hand(keys(TAB))
    screen.pages = [MENU]
    last = await sitting.ended()
    assert [one.gesture for one in sitting.done] == [Click(USER), Write("ann"), Hotkey(("tab",))]
    assert [one.begun.hurried for one in sitting.done] == [False, False, False]
    assert sitting.done[2].before.is_like(shown(NAMED))
    assert last.is_like(shown(MENU))
    assert screen.done == [*press(USER), *keys(*"ann"), *keys(TAB)]
    assert told == sitting.done


async def test_the_screen_is_captured_between_typed_text_and_the_enter_key() -> None:
    screen = Screen(EMPTY)
    sitting = StepCollector(screen, lambda step: None, now)
    await sitting.fresh()
    desktop = DelayingDesktop(screen, sitting)
    await desktop.by_hand(keys(*"ann"))
    screen.pages = [NAMED]
    await desktop.by_hand(keys(RETURN))
    (typed,) = sitting.done
    assert typed.gesture == Write("ann", press_enter=True)
    assert typed.typed is not None
    assert typed.typed.is_like(shown(NAMED))


async def test_a_step_that_begins_before_the_screen_settles_is_marked_as_hurried() -> None:
    screen = Screen(EMPTY)
    sitting = StepCollector(screen, lambda step: None, now, lambda: None)
    await sitting.fresh()
    for one in [*press(USER), *press(PASSWORD_FIELD)]:
        sitting.take_input(one, time.monotonic())
    await sitting.ended()
    assert [one.begun.hurried for one in sitting.done] == [False, True]
    ((number, why),) = unsure_steps(sitting.done).items()
    assert number == 2
    assert why.startswith("it began before the screen had settled")


async def test_a_capture_in_progress_counts_as_the_screen_before_the_next_step() -> None:
    screen = Screen(EMPTY)
    sitting = StepCollector(screen, lambda step: None, now, lambda: None)
    await sitting.fresh()
    began = time.monotonic()
    for one in press(USER):
        sitting.take_input(one, began)
    screen.slow_s, looking = 0.0, asyncio.create_task(sitting.fresh())
    await asyncio.sleep(0)
    for one in press(PASSWORD_FIELD):
        sitting.take_input(one, began + 3600)  # later than the picture, and reported before the picture is there
    await looking
    await sitting.ended()
    assert [one.begun.hurried for one in sitting.done] == [False, False]


@pytest.mark.parametrize(
    ("gesture", "why"),
    [
        (Click(USER, count=3), r"it is 3 presses in a row"),
        (Click(USER, "middle"), r"it is a press of the middle button"),
        (Hotkey(("key 0xfe51",)), r"it presses a key without a known name \(key 0xfe51\)"),
    ],
)
def test_what_no_playbook_does_is_said_with_the_step_s_number(gesture: Gesture, why: str) -> None:
    assert re.match(why, unsure_steps([step(1, gesture, shown(EMPTY))])[1])
    with pytest.raises(InvalidUsage, match="Nothing was done on the screen"):
        unsure_steps([])


def test_text_typed_after_a_triple_click_or_into_an_empty_field_overwrites() -> None:
    tripled = merged([step(1, Click(USER, count=3), shown(NAMED)), step(2, Write("bob"), shown(NAMED))])
    assert [one.gesture for one in tripled] == [Click(USER), Write("bob", overwrite=True)]
    assert unsure_steps(tripled) == {}
    reader = Reader()
    into = [step(1, Click(USER), shown(EMPTY)), step(2, Write("bob"), shown(EMPTY))]
    assert into_empty(into, reader)[1].gesture == Write("bob", overwrite=True)
    filled = [step(1, Click(USER), shown(NAMED)), step(2, Write("bob"), shown(NAMED))]
    assert into_empty(filled, reader)[1].gesture == Write("bob")


def test_text_that_its_field_does_not_show_is_a_secret() -> None:
    steps, last = signed_on()
    (found,) = secrets_in(steps, last, Reader())
    assert (found.step, found.secret.name, found.secret.value, found.sure) == (4, "password", VALUE, True)
    hidden = by_name(steps, [found])[3].gesture
    assert hidden == Write("{{secret:password}}")


def screen(picture: Image.Image) -> RecordedScreen:
    return RecordedScreen.of(Frame(picture.tobytes(), SIZE, ":0"), ElementTree(()), 0, now())


def pasted(onto: Image.Image, *pieces: tuple[Image.Image, tuple[int, int]]) -> RecordedScreen:
    """Return a screen with the pieces pasted onto it."""
    for piece, at in pieces:
        onto.paste(piece, at)
    return screen(onto)


def cut(one: Page, box: Box) -> tuple[Image.Image, tuple[int, int]]:
    return one.picture.crop((box.left, box.top, box.right, box.bottom)), (box.left, box.top)


PASSWORD_BOX, USER_BOX = Box(150, 110, 250, 35), Box(150, 76, 250, 30)
LIT = Image.new("RGB", (60, 24), (225, 225, 225)), (150, 158)
"""A highlighted button under the pointer."""
TABBED = [Hotkey(("tab",))]


@pytest.mark.parametrize("before", [TABBED, [Click(USER), *TABBED], [Click(Point(30, 30)), *TABBED, *TABBED]])
@pytest.mark.parametrize("also", [[LIT], [LIT, cut(page(fields=[(150, 78, "bob")]), USER_BOX)], []])
def test_a_secret_is_found_in_the_field_reached_by_the_tab_key(
    before: list[Gesture], also: list[tuple[Image.Image, tuple[int, int]]]
) -> None:
    steps = [step(number, gesture, shown(NAMED)) for number, gesture in enumerate((*before, Write(VALUE)), start=1)]
    last = pasted(NAMED.picture, *also, cut(FILLED, PASSWORD_BOX))
    (found,) = secrets_in(steps, last, Reader())
    assert (found.secret.name, found.sure) == ("password", True)
    assert found.ink is not None
    assert found.ink.box.contains(PASSWORD_FIELD)
    assert all(found.ink.box.intersection(Box(*at, *piece.size)) is None for piece, at in also)


def test_on_a_white_page_a_secret_is_found_in_its_own_field() -> None:
    white = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    for top in (78, 118):
        ImageDraw.Draw(white).rectangle((150, top, 370, top + 24), "white", "black")
    steps = [step(1, TABBED[0], screen(white)), step(2, Write(VALUE), screen(white))]
    (found,) = secrets_in(steps, pasted(white.copy(), LIT, cut(FILLED, Box(152, 119, 216, 22))), Reader())
    assert found.sure
    assert found.ink is not None
    assert found.ink.box.contains(PASSWORD_FIELD)
    assert found.ink.box.bottom <= 142


@pytest.mark.parametrize("value", ["1111", "abc"])
def test_all_changed_regions_are_masked_if_the_field_of_a_secret_is_unknown(value: str) -> None:
    steps = [step(1, TABBED[0], shown(EMPTY)), step(2, Write(value), shown(EMPTY))]
    last = pasted(EMPTY.picture, cut(page(fields=[(150, 78, "12:04")]), USER_BOX), cut(FILLED, PASSWORD_BOX))
    (found,) = secrets_in(steps, last, Reader())
    assert found.ink is not None
    assert found.ink.box.contains(USER)
    assert found.ink.box.contains(PASSWORD_FIELD)


def test_text_in_a_password_field_is_a_secret_even_if_it_is_shown() -> None:
    states = frozenset((SHOWING, FOCUSED))
    field = Element(0, PASSWORD, "PIN", states, Box(150, 78, 220, 24), -1, "form", 1, protected=True)
    before, after = shown(EMPTY, field), shown(NAMED, field)
    (found,) = secrets_in([step(1, Write("annabel"), before)], after, Reader(), ["annabel"])
    assert (found.secret.name, found.sure) == ("pin", True)


def test_text_that_is_never_shown_counts_as_a_secret_unless_declared_public() -> None:
    steps = [step(1, Write("annabel"), shown(EMPTY))]
    (found,) = secrets_in(steps, shown(MENU), Reader())
    assert not found.sure
    assert not secrets_in(steps, shown(MENU), Reader(), ["annabel"])
    assert not secrets_in([step(1, Write("y"), shown(EMPTY))], shown(MENU), Reader())


async def test_the_trace_reads_like_that_of_a_run_and_contains_no_secret(tmp_path: Path) -> None:
    steps, last = signed_on(FILLED)
    secrets = secrets_in(steps, last, Reader())
    story = RecordedSession(by_name(steps, secrets), last, "sign on", "", ":0", {1: "the field User"})
    recorder = Destination.parse(str(tmp_path / "runs")).open(new_run_id(), home=tmp_path)
    async with recorder:
        redactor = CombinedRedactor(NothingToRedact(), Painter([TypedSecretRedactor(secrets)]))
        await write_trace(story, recorder, redactor, PngEncoder(), as_it_is)
    (found,) = recordings(open_trace(recorder.uri), "0" * 64)
    assert [one.tool for one in found.steps] == ["click", "write", "click", "write", "hotkey"]
    assert found.steps[0].points == (USER,)
    assert found.steps[3].arguments["content"] == "{{secret:password}}"
    assert all(VALUE.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    told = [record.event for record in open_trace(recorder.uri).records()]
    masked = [bool(event.masks) for event in told if event.kind == "frame"]
    assert masked == [False, False, True, True]
    assert told[-2].layer == "person"  # type: ignore[union-attr]


async def test_a_step_that_no_playbook_can_do_again_is_left_to_the_model(tmp_path: Path) -> None:
    steps = [step(1, Click(USER), shown(EMPTY)), step(2, Hotkey(("key 0xff2f",)), shown(NAMED))]
    recorder = Destination.parse(str(tmp_path / "runs")).open(new_run_id(), home=tmp_path)
    async with recorder:
        story = RecordedSession(steps, shown(MENU), "sign on", "", ":0", {}, unsure_steps(steps))
        await write_trace(story, recorder, NothingToRedact(), PngEncoder(), as_it_is)
    told = [record.event for record in open_trace(recorder.uri).records()]
    assert [event.kind for event in told].count("receipt") == 2
    assert told[-1].status == "answered"  # type: ignore[union-attr]
    (one,) = recordings(open_trace(recorder.uri), "0" * 64)
    assert [bool(each.unsure) for each in one.steps] == [False, True]
    made = json.loads(compile_traces([recorder.uri], tmp_path / "made.yaml", "", (), None, tmp_path, as_json=True))
    (left,) = made["by_model"]
    assert left["step"] == 2
    assert "key 0xff2f" in left["why"]


async def test_a_key_without_a_name_is_reported_at_its_step() -> None:
    said: list[str] = []
    teller = StepReporter(said.append)
    telling = asyncio.ensure_future(teller.work())
    teller.report(step(1, Hotkey(("tab",)), shown(EMPTY)))
    teller.report(step(2, Hotkey(("key 0xff2f",)), shown(EMPTY)))
    await teller.caught_up()
    telling.cancel()
    assert said[:2] == ["step 1: pressed tab", "step 2: pressed key 0xff2f"]
    assert len(said) == 3
    assert said[2].startswith("step 2: it presses a key without a known name (key 0xff2f)")
