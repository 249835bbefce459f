"""The titles of visible windows are listed, and filtered before they leave this machine."""

from __future__ import annotations

from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame, Mask, OnScreen
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.window_titles import CHARACTERS, MOST, shareable_titles, titles_on

SIZE = Size(400, 300)


def window(title: str, box: Box, *, solid: bool = True) -> OnScreen:
    return OnScreen(box, (Owner("/usr/bin/program", title=title),), solid)


def frame(*windows: OnScreen, monitor: Box | None = None) -> Frame:
    return Frame(bytes(SIZE.width * SIZE.height * 3), SIZE, ":0", windows=windows, monitor=monitor)


def as_told(shown: Frame, *masks: Box, region: Box | None = None) -> list[str]:
    return shareable_titles(shown, region, [Mask("text", box) for box in masks], lambda text: text)


MAIN, DIALOG = window("Orders", Box(0, 0, 400, 300)), window("Save as", Box(100, 80, 200, 150))


def test_titles_are_listed_topmost_first() -> None:
    assert titles_on(frame(MAIN, DIALOG)) == ("Save as", "Orders")
    assert as_told(frame(MAIN, DIALOG)) == ["Save as", "Orders"]


def test_a_window_with_a_covered_title_is_left_out() -> None:
    over = window("Order 1", Box(0, 0, 400, 300))
    assert titles_on(frame(MAIN, over)) == ("Order 1",)
    assert titles_on(frame(MAIN, window("Seen through", Box(0, 0, 400, 300), solid=False))) == (
        "Seen through",
        "Orders",
    )


def test_windows_outside_the_region_are_left_out() -> None:
    left, right = window("Mine", Box(0, 0, 180, 300)), window("Somebody elses", Box(220, 0, 180, 300))
    assert titles_on(frame(left, right, monitor=Box(0, 0, 200, 300))) == ("Mine",)
    assert titles_on(frame(left, right), Box(200, 0, 200, 300)) == ("Somebody elses",)
    assert as_told(frame(left, right), region=Box(200, 0, 200, 300)) == ["Somebody elses"]


def test_titles_are_unknown_if_the_frame_lists_no_windows() -> None:
    unknown = Frame(bytes(SIZE.width * SIZE.height * 3), SIZE, ":0")
    assert titles_on(unknown) is None
    assert as_told(unknown) == []


def test_the_title_of_a_masked_window_is_removed() -> None:
    assert as_told(frame(MAIN, DIALOG), Box(120, 85, 40, 10)) == ["Orders"]  # over its title
    assert as_told(frame(MAIN, DIALOG), Box(100, 125, 200, 105)) == ["Orders"]  # over most of the window


def test_private_titles_are_removed_and_long_ones_are_cut() -> None:
    private = shareable_titles(frame(MAIN, DIALOG), None, [], lambda text: "" if "Save" in text else text)
    assert private == ["Orders"]
    assert len(as_told(frame(window("x" * 500, MAIN.box)))[0]) == CHARACTERS
    secret = "correct-horse-battery-staple"
    split = frame(window(f"{'x' * (CHARACTERS - 9)} {secret}", MAIN.box))
    (told,) = shareable_titles(split, None, [], lambda text: text.replace(secret, "{{secret:pin}}"))
    assert "correct" not in told
    many = (window(f"{number}", Box(0, 0, 90, 90), solid=False) for number in range(MOST + 3))
    assert len(as_told(frame(*many))) == MOST
