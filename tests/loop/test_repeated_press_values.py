"""At most one press per unchanged screen: the rule alone, without a desktop, a model or a walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Scroll, Write
from holo_tasks.core.input.permit import Scene
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.activity import UNKNOWN, Activity
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.visible_change import effect_tiles, is_large, moving_tiles
from holo_tasks.loop.instructions import (
    Ask,
    GetTime,
    GiveUp,
    Glance,
    GuardSteps,
    Instruction,
    Look,
    LookForEffect,
    Wait,
)
from holo_tasks.loop.presses.made_presses import MadePresses, may_be_same
from holo_tasks.loop.presses.repeated_press import PATIENT_S, WATCH_S, Withheld, check, is_harmless, repeated
from tests.support.elements import tree_of

SIZE = Size(480, 320)
BUTTON = Box(180, 140, 120, 40)
AT = BUTTON.center
FONT = ImageFont.load_default(size=14)
Draw = Callable[[ImageDraw.ImageDraw], None]
CLICK = Click(AT)
SENT = Activity(known=True, sent=True, repainted=True)
NOTHING = Activity(known=True)


def painted(*more: Draw, label: str = "Submit", color: str = "#d0d0d0", activity: Activity = UNKNOWN) -> Frame:
    """Return a form with a button in its middle."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    draw = ImageDraw.Draw(image)
    draw.text((20, 20), "Order of 14 screws", fill="black", font=FONT)
    draw.rectangle((20, 80, 220, 104), fill="white", outline="#808080")
    draw.rectangle((BUTTON.left, BUTTON.top, BUTTON.right - 1, BUTTON.bottom - 1), fill=color, outline="#606060")
    draw.text((AT.x - 20, AT.y - 9), label, fill="black", font=FONT)
    for one in more:
        one(draw)
    return Frame(image.tobytes(), SIZE, ":1", activity=activity)


def text(at: tuple[int, int], said: str) -> Draw:
    return lambda draw: draw.text(at, said, fill="black", font=FONT)


def box(
    corners: tuple[int, int, int, int], fill: str | None = None, outline: str | None = None, width: int = 1
) -> Draw:
    return lambda draw: draw.rectangle(corners, fill=fill, outline=outline, width=width)


def hint(draw: ImageDraw.ImageDraw) -> None:
    draw.rectangle((AT.x, AT.y + 24, AT.x + 120, AT.y + 44), fill="#ffffe0", outline="black")
    draw.text((AT.x + 4, AT.y + 26), "Sends the order", fill="black", font=FONT)


CARET = box((40, 84, 41, 100), fill="black")
FORM = painted()


@pytest.mark.parametrize(
    "now",
    [
        painted(color="#e8e8ff"),
        painted(box((17, 77, 223, 107), outline="#3070ff", width=2)),
        painted(box((177, 137, 303, 183), outline="#3070ff", width=3), color="#c0c0c0"),
        painted(CARET),
        painted(hint),
    ],
    ids=["the look of the button", "a ring around another field", "a ring around the button", "a caret", "a tool tip"],
)
def test_feedback_of_a_press_is_not_an_effect(now: Frame) -> None:
    assert not effect_tiles(FORM, now, [AT])
    assert not effect_tiles(now, FORM, [AT])


@pytest.mark.parametrize(
    "now",
    [
        painted(text((20, 250), "Saved")),
        painted(text((AT.x, AT.y + 30), "1")),
        painted(label="Sent"),
        painted(box((400, 20, 412, 32), fill="green")),
        painted(box((20, 200, 400, 300), fill="#eeeeee", outline="black")),
    ],
    ids=["a message", "a digit below the button", "another label", "a lamp", "a panel"],
)
def test_visible_changes_count_as_an_effect(now: Frame) -> None:
    assert effect_tiles(FORM, now, [AT])


def test_a_tick_at_the_pressed_point_is_an_effect() -> None:
    empty = painted(box((60, 200, 74, 214), outline="black"))
    tick: Draw = lambda draw: draw.line((62, 207, 66, 212, 73, 202), fill="black", width=2)  # noqa: E731
    assert effect_tiles(empty, painted(box((60, 200, 74, 214), outline="black"), tick), [Point(67, 207)])


def test_another_page_and_another_size_are_large_effects() -> None:
    page = Frame(bytes([40]) * len(FORM.rgb), SIZE, ":1")
    other = Frame(bytes(30 * 20 * 3), Size(30, 20), ":1")
    assert is_large(effect_tiles(FORM, page, [AT]), page)
    assert is_large(effect_tiles(FORM, other, [AT]), other)


def test_text_typed_before_a_key_is_not_an_effect_of_the_key() -> None:
    now = painted(text((30, 84), "fourteen"))
    assert not effect_tiles(FORM, now, [], Point(100, 92))
    assert effect_tiles(FORM, now, [])


def test_a_clock_moves_and_a_caret_does_not() -> None:
    assert moving_tiles(painted(text((400, 290), "12:00:01")), painted(text((400, 290), "12:00:02")))
    assert not moving_tiles(FORM, painted(CARET))


def kind_of(gesture: Gesture) -> str:
    press = MadePresses().press_of(gesture)
    return press.kind if press else ""


@pytest.mark.parametrize(
    ("gesture", "kind"),
    [
        (CLICK, "left click"),
        (Click(AT, "left", 2), "left click"),
        (Click(AT, "middle"), "middle click"),
        (Click(AT, "right"), ""),
        (Hotkey(("enter",)), "Enter"),
        (Write("14", press_enter=True), "Enter"),
        (Write("14\n"), "Enter"),
        (Write("14"), ""),
        (Write(" "), "Space"),
        (Hotkey(("space",)), "Space"),
        (Hotkey(("alt", "s")), "alt+s"),
        (Hotkey(("tab",)), ""),
        (Hotkey(("down",)), ""),
        (Hotkey(("pagedown",)), ""),
        (Hotkey(("ctrl", "s")), ""),
        (Hotkey(("hyper",)), ""),
        (Scroll(AT, "down", 3), ""),
        (Drag(AT, Point(1, 1)), ""),
        (HoldAndTap(("shift",), ("down", "down")), ""),
    ],
)
def test_gestures_are_classified_as_presses(gesture: Gesture, kind: str) -> None:
    assert kind_of(gesture) == kind


def pressed_on(before: Frame, *after: Frame, gesture: Gesture = CLICK) -> MadePresses:
    """Return the recorded presses after one press and some captures."""
    presses = MadePresses()
    presses.record(gesture, before, 100.0)
    for frame in after:
        presses.looked(frame)
    return presses


def scene(*, tree: ElementTree | None = None, reader: Any = None) -> Scene:
    async def owner(at: Point | None) -> Owner:
        return Owner("/usr/bin/program")

    async def elements() -> ElementTree:
        assert tree is not None
        return tree

    return Scene(FORM, owner, reader, elements=elements if tree else None)


async def never() -> bool:
    return False


class Driven:
    """Answers a check until it ends or gives up; ``looks`` are the captured screens, the last one repeated."""

    def __init__(self, presses: MadePresses, *looks: Frame, at_s: float = 100.2, harmless: bool = False, **how: Any):
        self.asked: list[type[Instruction]] = []
        self.waited_s = 0.0
        self.result: Withheld | None = None
        self.gave_up = ""
        course: GuardSteps[Withheld | None] = check(
            presses, presses.made[-1], looks[0], is_harmless=never, not_done=never
        )
        shown, answer = list(looks), None
        while True:
            try:
                wanted = course.send(answer)
            except StopIteration as end:
                self.result = end.value
                return
            self.asked.append(type(wanted))
            answer = None
            match wanted:
                case GetTime():
                    answer = at_s + self.waited_s
                case Wait(seconds):
                    self.waited_s += seconds
                case Glance():
                    answer = shown.pop(0) if len(shown) > 1 else shown[0]
                case Ask():
                    answer = harmless
                case LookForEffect():
                    answer = how["not_done"]
                case GiveUp(why):
                    self.gave_up = why
                    return


@pytest.mark.parametrize(
    ("activity", "said"),
    [
        (UNKNOWN, "it is unknown whether the program works on it"),
        (SENT, "the program sent something, and the screen has not changed: pressing it again might submit it twice"),
        (replace(SENT, waiting_for="its server"), "the program is still waiting for its server"),
        (Activity(known=True, computed=True), "the program worked on it"),
    ],
)
def test_a_repeated_press_is_refused_with_a_reason_and_then_gives_up(activity: Activity, said: str) -> None:
    now = painted(color="#e8e8ff", activity=activity)
    presses = pressed_on(FORM, now)
    first = Driven(presses, now)
    assert first.result is not None
    assert said in first.result.why
    assert "was not pressed again" in first.result.why
    assert not first.result.changed
    assert Look in first.asked
    assert first.waited_s == pytest.approx(PATIENT_S - 0.2)
    again = Driven(presses, now, at_s=103.0, not_done=False)
    assert (again.result, said in again.gave_up) == (None, True)


def test_a_late_repetition_is_refused_without_a_wait() -> None:
    presses = pressed_on(FORM, FORM)
    driven = Driven(presses, FORM, at_s=110.0)
    assert (driven.waited_s, driven.asked.count(Glance)) == (0.0, 1)
    assert driven.result is not None


def test_a_denied_effect_resets_the_rule() -> None:
    presses = pressed_on(FORM, FORM)
    Driven(presses, FORM)
    again = Driven(presses, FORM, at_s=110.0, not_done=True)
    assert again.result is not None
    assert "a check shows that it had no effect" in again.result.why
    assert presses.made == []


def test_a_press_without_effect_is_repeated_once_and_then_refused() -> None:
    now = painted(activity=NOTHING)
    presses = pressed_on(FORM, now)
    assert Driven(presses, now).result is None
    presses.record(CLICK, now, 103.0)
    presses.looked(now)
    assert [made.times for made in presses.made] == [2]
    refused = Driven(presses, now, at_s=106.0)
    assert refused.result is not None
    assert "does nothing" in refused.result.why


def test_a_repeated_press_that_sent_something_counts_as_sent() -> None:
    presses = pressed_on(FORM, painted(activity=NOTHING))
    assert Driven(presses, painted(activity=NOTHING)).result is None
    presses.record(CLICK, FORM, 103.0)
    presses.looked(painted(activity=SENT))
    refused = Driven(presses, painted(activity=SENT), at_s=106.0)
    assert refused.result is not None
    assert "the program sent something" in refused.result.why


def test_a_change_during_the_wait_returns_to_the_layer() -> None:
    presses = pressed_on(FORM, FORM)
    driven = Driven(presses, FORM, FORM, painted(text((20, 250), "Saved")))
    assert driven.result is not None
    assert driven.result.changed
    assert presses.made == []


@pytest.mark.parametrize("activity", [UNKNOWN, replace(SENT, sent=False)])
def test_a_visible_effect_allows_the_next_press_at_once(activity: Activity) -> None:
    now = painted(text((AT.x, AT.y + 30), "1"), activity=activity)
    presses = pressed_on(FORM, now)
    driven = Driven(presses, now)
    assert (driven.result, driven.gave_up, driven.waited_s, presses.made) == (None, "", 0.0, [])


def test_after_sent_data_a_small_change_is_watched_only_once() -> None:
    one, two = (painted(text((AT.x, AT.y + 30), said), activity=SENT) for said in ("1", "2"))
    presses = pressed_on(FORM, one)
    first = Driven(presses, one)
    assert first.result is None
    assert first.waited_s == pytest.approx(WATCH_S)
    presses.record(CLICK, one, 103.0)
    presses.looked(two)
    assert presses.shows_effect(presses.made[-1], two) is True


def test_a_clock_next_to_a_sent_form_is_not_an_effect() -> None:
    ticks = [painted(text((400, 290), f"12:00:{second:02}"), activity=SENT) for second in range(1, 60)]
    presses = pressed_on(painted(text((400, 290), "12:00:00")), ticks[0])
    seconds = [tick for tick in ticks for _ in range(3)]  # a capture every third of a second
    driven = Driven(presses, *seconds)
    assert driven.result is not None
    assert "the screen has not changed" in driven.result.why
    assert not driven.result.changed
    again = Driven(presses, ticks[40], at_s=140.0, not_done=False)
    assert again.gave_up


def test_a_different_screen_in_between_ends_the_rule() -> None:
    ticked = painted(box((60, 200, 74, 214), fill="black"))
    presses = pressed_on(FORM, ticked, FORM)
    assert Driven(presses, FORM).result is None
    assert presses.made == []


@pytest.mark.parametrize("more", [0, 1, 9])
async def test_another_page_in_between_is_an_effect_after_any_number_of_captures(more: int) -> None:
    page = Frame(bytes([40]) * len(FORM.rgb), SIZE, ":1")
    looks = [look for _ in range(more) for look in (FORM, painted(CARET))]
    presses = pressed_on(FORM, page, *looks, FORM)
    assert await repeated(presses, CLICK, FORM, scene()) is None
    assert presses.made == []


async def test_a_harmless_press_passes_without_a_wait() -> None:
    presses = pressed_on(FORM, FORM)
    driven = Driven(presses, FORM, harmless=True)
    assert (driven.result, driven.gave_up, driven.asked) == (None, "", [Ask])


async def test_a_press_after_a_persons_work_is_a_new_one() -> None:
    held = replace(FORM, holds=1)
    assert await repeated(pressed_on(FORM, held), CLICK, held, scene()) is None


@pytest.mark.parametrize(
    ("gesture", "same"),
    [
        (CLICK, True),
        (Click(Point(AT.x + 8, AT.y - 8)), True),
        (Click(Point(AT.x + 30, AT.y)), False),
        (Click(AT, "left", 2), False),
        (Click(AT, "middle"), False),
        (Hotkey(("enter",)), False),
    ],
)
async def test_the_same_press_is_near_and_of_the_same_kind(gesture: Gesture, same: bool) -> None:
    presses = pressed_on(FORM, FORM)
    assert (await repeated(presses, gesture, FORM, scene()) is not None) is same


@pytest.mark.parametrize(
    ("role", "gesture", "same"),
    [
        ("button", Click(Point(AT.x + 50, AT.y)), True),
        ("button", Click(AT, "left", 2), True),
        ("list item", Click(AT, "left", 2), False),
        ("button", Click(Point(AT.x + 90, AT.y)), False),
        ("canvas", Click(Point(AT.x + 50, AT.y)), False),
    ],
)
async def test_two_points_on_one_element_are_the_same_press(role: str, gesture: Gesture, same: bool) -> None:
    presses, tree = pressed_on(FORM, FORM), tree_of((role, "Submit", BUTTON))
    assert (await repeated(presses, gesture, FORM, scene(tree=tree)) is not None) is same


class Reads:
    """Reads the same given text on each control."""

    def __init__(self, said: str = "Submit", field: Box | None = None) -> None:
        self.said, self.field = said, field

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return self.said

    async def on_target(self, frame: Frame, at: Point) -> str:
        return self.said

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        return self.field if self.field and self.field.contains(at) else None


@pytest.mark.parametrize(
    ("said", "dx", "dy", "same"),
    [("Submit", 30, 0, True), ("", 30, 0, False), ("Submit", 30, 20, False), ("Submit", 70, 0, False)],
)
async def test_two_points_on_one_line_with_the_same_text_are_the_same_press(
    said: str, dx: int, dy: int, same: bool
) -> None:
    there = Click(Point(AT.x + dx, AT.y + dy))
    assert (await repeated(pressed_on(FORM, FORM), there, FORM, scene(reader=Reads(said))) is not None) is same


@pytest.mark.parametrize(
    ("between", "same"),
    [
        ([], True),
        ([Scroll(AT, "down", 3)], True),
        ([Hotkey(("end",))], True),
        ([Hotkey(("tab",))], False),
        ([Click(Point(5, 5))], False),
        ([Click(Point(30, 90))], True),
    ],
)
async def test_enter_is_the_same_press_while_the_focus_stays(between: list[Gesture], same: bool) -> None:
    presses = MadePresses()
    for gesture in (Click(Point(30, 90)), Hotkey(("enter",)), *between):
        presses.record(gesture, FORM, 100.0)
        presses.looked(FORM)
    assert (await repeated(presses, Hotkey(("enter",)), FORM, scene()) is not None) is same


@pytest.mark.parametrize(
    ("gesture", "there", "safe", "harmless"),
    [
        (CLICK, scene(), (), False),
        (CLICK, scene(reader=Reads(field=BUTTON)), (), True),
        (CLICK, scene(tree=tree_of(("text field", "Name", BUTTON))), (), True),
        (CLICK, scene(tree=tree_of(("button", "Submit", BUTTON)), reader=Reads(field=BUTTON)), (), False),
        (Hotkey(("enter",)), scene(reader=Reads(field=BUTTON)), (), False),
        (CLICK, scene(reader=Reads()), ("Submit",), True),
        (CLICK, scene(reader=Reads()), ("Search",), False),
        (CLICK, scene(), ("*",), True),
    ],
)
async def test_a_press_on_a_field_or_declared_safe_is_harmless(
    gesture: Gesture, there: Scene, safe: tuple[str, ...], harmless: bool
) -> None:
    assert await is_harmless(MadePresses(), gesture, there, safe) is harmless


async def test_an_unreadable_target_is_not_harmless() -> None:
    class Broken(Reads):
        async def field_at(self, frame: Frame, at: Point) -> Box | None:
            raise RuntimeError("no model")

    assert not await is_harmless(MadePresses(), CLICK, scene(reader=Broken()), ("Submit",))


def test_enter_after_another_text_is_another_press_and_a_bare_enter_is_the_same() -> None:
    presses = MadePresses()
    one, other = (presses.press_of(Write(text, press_enter=True)) for text in ("4711", "4712"))
    bare = presses.press_of(Write("", press_enter=True))
    assert one is not None
    assert other is not None
    assert bare is not None
    assert not may_be_same(one, other)
    assert may_be_same(one, one)
    assert may_be_same(one, bare)


def test_a_seen_effect_is_remembered() -> None:
    presses = pressed_on(painted())
    (made,) = presses.made
    made.follow(Activity(known=True, computed=True, repainted=True))
    made.follow(Activity(known=True))
    assert not made.had_no_effect


@pytest.mark.parametrize(
    ("gesture", "count"),
    [(HoldAndTap(("ctrl",), ("s",)), 1), (Hotkey(("ctrl", "s")), 1), (CLICK, 1), (Scroll(AT, "down", 1), 0)],
)
def test_presses_and_key_combinations_after_a_text_may_have_stored_it(gesture: Gesture, count: int) -> None:
    presses = MadePresses()
    presses.record(gesture, painted(), 0.0)
    assert presses.after_text == 0
    presses.record(Write("screws", at=AT), painted(), 0.0)
    presses.record(gesture, painted(), 0.0)
    assert presses.after_text == count
