"""Every gesture as a real program receives it."""

from __future__ import annotations

import asyncio
import time

import pytest

from holo_tasks.core.errors import InvalidUsage, LimitReached
from holo_tasks.core.input.gestures import Click, Drag, HoldAndTap, Hotkey, Move, Pause, Scroll, Write
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import Settle, VirtualDesktop

SPOT, OTHER = Point(200, 200), Point(400, 300)


@pytest.fixture(autouse=True)
async def clean(request, until):
    """Start with the pointer in the window and an empty log."""
    if "events" not in request.fixturenames:
        return
    events = request.getfixturevalue("events")
    await events.desktop.do(Move(Point(90, 90)))
    await events.desktop.look(after_action=True)
    events.told.clear()


@pytest.mark.parametrize(("button", "number"), [("left", 1), ("middle", 2), ("right", 3)])
async def test_a_click_presses_and_releases_at_the_point(events, button, number):
    receipt = await events.desktop.do(Click(SPOT, button=button))
    got = await events.told.has(2, "press", "release")
    assert got == [["press", number, 200, 200], ["release", number, 200, 200]]
    assert receipt.events >= 2


async def test_the_program_recognizes_a_double_click(events):
    await events.desktop.do(Click(SPOT, count=2))
    assert len(await events.told.has(2, "press")) == 2
    assert len(await events.told.has(1, "double")) == 1


async def test_two_single_clicks_are_not_a_double_click(events):
    await events.desktop.do(Click(OTHER))
    await events.desktop.do(Click(OTHER))
    assert len(await events.told.has(2, "press")) == 2
    assert events.told.all("double") == []


async def test_a_move_leaves_the_pointer_there(events):
    await events.desktop.do(Move(OTHER))
    assert (await events.told.has(1, "motion"))[-1][2:] == [400, 300]


async def test_a_drag_presses_moves_in_steps_and_releases(events):
    await events.desktop.do(Drag(SPOT, OTHER))
    await events.told.has(1, "release")
    press, release = events.told.all("press"), events.told.all("release")
    moves = [event for event in events.told.all("motion") if event[1] & 0x100]
    assert press == [["press", 1, 200, 200]]
    assert release == [["release", 1, 400, 300]]
    assert len(moves) >= 5
    assert [x for _, _, x, _ in moves] == sorted(x for _, _, x, _ in moves)


@pytest.mark.parametrize(("direction", "button"), [("up", 4), ("down", 5), ("left", 6), ("right", 7)])
async def test_a_scroll_turns_the_wheel_once_for_each_notch(events, direction, button):
    await events.desktop.do(Scroll(SPOT, direction, 3))
    assert await events.told.has(3, "wheel") == [["wheel", button, 200, 200]] * 3


KEYS = {
    ("ctrl", "c"): ["Control_L", "c"],
    ("Ctrl", "C"): ["Control_L", "c"],
    ("CONTROL", "SHIFT", "t"): ["Control_L", "Shift_L", "T"],
    ("alt", "F4"): ["Alt_L", "F4"],
    ("win",): ["Super_L"],
    ("Enter",): ["Return"],
    ("ESC",): ["Escape"],
    ("page_up",): ["Prior"],
    ("PgDn",): ["Next"],
    ("ArrowLeft",): ["Left"],
    ("del",): ["Delete"],
    ("F12",): ["F12"],
    ("f24",): ["F24"],
    ("PrintScreen",): ["Print"],
    ("menu",): ["Menu"],
    ("+",): ["Shift_L", "plus"],
    ("?",): ["Shift_L", "question"],
    ("A",): ["Shift_L", "A"],
    ("ctrl", "+"): ["Control_L", "Shift_L", "plus"],
    ("€",): ["U20AC"],
    ("space",): ["space"],
}


@pytest.mark.parametrize("keys", list(KEYS), ids="+".join)
async def test_a_hotkey_is_pressed_in_order_and_released_in_reverse(events, keys):
    await events.desktop.do(Hotkey(keys))
    wanted = KEYS[keys]
    down = [key for _, key, _ in await events.told.has(len(wanted), "key")]
    assert down == wanted
    up = [key for _, key, _ in await events.told.has(len(wanted), "keyup")]
    assert [key.lower() for key in up] == [key.lower() for key in reversed(wanted)]


async def test_a_hotkey_is_repeated(events):
    await events.desktop.do(Hotkey(("down",), repeat=4))
    assert [key for _, key, _ in await events.told.has(4, "key")] == ["Down"] * 4


async def test_keys_are_held_while_others_are_tapped(events):
    await events.desktop.do(HoldAndTap(("ctrl",), ("a", "b")))
    got = await events.told.has(6, "key", "keyup")
    assert [(kind, key) for kind, key, _ in got] == [
        ("key", "Control_L"),
        ("key", "a"),
        ("keyup", "a"),
        ("key", "b"),
        ("keyup", "b"),
        ("keyup", "Control_L"),
    ]
    assert all(state & 4 for _, key, state in got if key in "ab")


@pytest.mark.parametrize(
    "gesture",
    [
        Click(Point(1280, 10)),
        Click(Point(-1, 10)),
        Move(Point(10, 800)),
        Drag(SPOT, Point(5000, 10)),
        Scroll(Point(10, -5), "down", 1),
        Scroll(SPOT, "down", 0),
        Click(SPOT, count=0),
        Hotkey(("ctrl", "frobnicate")),
        Hotkey(()),
        HoldAndTap(("ctrl",), ()),
        HoldAndTap(("hyperdrive",), ("a",)),
        Pause(float("nan")),
        Pause(-1),
    ],
    ids=str,
)
async def test_an_invalid_gesture_is_refused_before_any_event(events, gesture):
    with pytest.raises(InvalidUsage):
        await events.desktop.do(gesture)
    await events.desktop.do(Hotkey(("F1",)))
    await events.told.has(1, "key")
    assert [event for event in events.told.all() if event[0] in ("press", "motion", "key")] == [["key", "F1", 0]]


async def test_the_error_for_an_unknown_key_lists_the_known_ones(events):
    with pytest.raises(InvalidUsage, match=r"'frobnicate'.*ctrl.*pagedown"):
        await events.desktop.do(Hotkey(("frobnicate",)))


async def test_nothing_is_sent_after_the_deadline(events):
    with pytest.raises(LimitReached) as error:
        await events.desktop.do(Click(SPOT), deadline=time.monotonic() - 1)
    assert error.value.limit == "deadline"
    await events.desktop.do(Hotkey(("F1",)))
    await events.told.has(1, "key")
    assert events.told.all("press") == []


async def test_long_typing_stops_at_the_deadline_with_nothing_pressed(events, pressed):
    with pytest.raises(LimitReached):
        await events.desktop.do(Write("Aa" * 50_000), deadline=time.monotonic() + 0.3)
    await events.desktop.do(Hotkey(("F1",)))
    got = await events.told.has(1, "key")
    await asyncio.sleep(0)
    assert 0 < len(got) < 100_000
    assert pressed(events.desktop) == []


async def test_cancelling_stops_a_gesture_and_releases_what_it_pressed(events, pressed, until):
    drag = asyncio.ensure_future(events.desktop.do(HoldAndTap(("ctrl",), ("a",) * 100_000)))
    await events.told.has(5, "key")
    drag.cancel()
    with pytest.raises(asyncio.CancelledError):
        await drag
    assert pressed(events.desktop) == []
    await events.desktop.do(Hotkey(("F1",)))  # and the desktop goes on
    assert await until(lambda: any(key == "F1" for _, key, _ in events.told.all("key")))


async def test_a_pause_ends_early_when_cancelled(events):
    pause = asyncio.ensure_future(events.desktop.do(Pause(3600)))
    await asyncio.sleep(0.05)
    pause.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pause
    assert (await events.desktop.do(Pause(0))).events == 0


async def test_the_close_button_of_a_window_can_be_clicked(probe, tmp_path, until):
    async with VirtualDesktop(app=probe("events", tmp_path / "log"), settle=Settle(first_change_s=0.1)) as desktop:
        box = (await desktop.windows())[0].box
        await desktop.do(Click(Point(box.right - 8, box.top - 9)))
        await desktop.look(after_action=True)
        for _ in range(100):
            if not await desktop.windows():
                break
        assert await desktop.windows() == []
