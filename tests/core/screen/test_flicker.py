"""Content that changes too fast to be read differs from content that shimmers or blinks. The pictures are made up."""

from __future__ import annotations

import random

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.screen.flicker import LAST, LOOKS, TURNS, unreadable_columns

WIDE, TALL = 200, 25


def look(*words: tuple[str, int, int], stroke: int | None = None, up: int = 0) -> Image.Image:
    picture = Image.new("L", (WIDE, TALL), 255)
    pencil = ImageDraw.Draw(picture)
    for said, x, level in words:
        pencil.text((x, 6 - up), said, fill=level)
    if stroke is not None:
        pencil.line((120, 12, 120 + (3, 8, 12, 8, 3)[stroke % 5], stroke % 25), fill=0, width=3)
    return picture


def test_a_spinner_is_unreadable_and_the_text_beside_it_is_readable() -> None:
    looks = [look(("Alice", 60, 0), stroke=n) for n in range(25)]
    found = unreadable_columns(looks[0], looks)
    assert {121, 122} <= found
    assert not found & set(range(100))


def test_a_name_that_changed_near_a_spinner_is_readable() -> None:
    turned = [look(("Alice" if n < 12 else "Bobby", 88, 0), stroke=n) for n in range(25)]
    assert not unreadable_columns(turned[0], turned) & set(range(88, 116))


def test_a_shimmering_or_blinking_name_is_readable() -> None:
    shimmers = [look(("Alice", 60, (0, 1, 9, 40)[n % 4])) for n in range(30)]
    blinks = [look(("Alice", 60, (0, 255)[n % 2])) for n in range(30)]
    changed = [look(("Alice" if n < 15 else "Bobby", 60, (0, 255)[n % 2])) for n in range(30)]
    assert all(unreadable_columns(seen[0], seen) == frozenset() for seen in (shimmers, blinks, changed))


def test_a_name_that_changed_twice_is_readable() -> None:
    seen = [look((("Alice", "Bobby", "Carol")[n // 10], 60, 0)) for n in range(30)]
    assert unreadable_columns(seen[0], seen) == frozenset()


def test_a_still_name_on_a_video_is_readable_and_the_video_is_not() -> None:
    def film(n: int, name: str) -> Image.Image:
        chance = random.Random(n)
        picture = Image.frombytes("L", (WIDE, TALL), bytes(chance.randrange(100, 256) for _ in range(WIDE * TALL)))
        ImageDraw.Draw(picture).text((60, 6), name, fill=0)
        return picture

    before, bobby = film(99, "Alice"), [film(n, "Bobby") for n in range(25)]
    alice = [film(n, "Alice") for n in range(25)]
    assert len(unreadable_columns(before, alice)) == WIDE
    read = set(range(WIDE)) - unreadable_columns(before, bobby)
    assert read
    assert read <= set(range(60, 95))


@pytest.mark.parametrize("stood", [LAST + 1, 12, 18])
def test_names_that_passed_quickly_and_stopped_are_readable(stood: int) -> None:
    chance = random.Random(stood)
    names = ["".join(chance.sample("ABCDEFGHKLM", 6)) for _ in range(28)]
    still = [*names[:-stood], *names[-1:] * stood]
    assert unreadable_columns(look(("Alice", 60, 0)), [look((name, 60, 0)) for name in names])
    assert unreadable_columns(look(("Alice", 60, 0)), [look((name, 60, 0)) for name in still]) == frozenset()


@pytest.mark.parametrize("over", [8, 12, 20])
def test_a_smoothly_scrolled_list_is_readable(over: int) -> None:
    before = look(("Alice", 60, 0))
    looks = [before] * 3 + [look(("Alice\n\n\nBobby", 60, 0), up=40 * (n + 1) // over) for n in range(over)]
    assert unreadable_columns(before, [*looks, *looks[-1:] * LAST]) == frozenset()


@pytest.mark.parametrize("each", [2, 3])
def test_names_of_a_quickly_advancing_list_are_readable(each: int) -> None:
    chance = random.Random(each)
    names = ["".join(chance.sample("ABCDEFGHKLM", 6)) for _ in range(28)]
    spun = [look((names[n // each], 70, 0), stroke=n) for n in range(28)]
    found = unreadable_columns(spun[0], spun)
    assert {121, 122} <= found
    assert not found & set(range(96)), "even if a name ends near the spinner"


def test_the_number_of_changes_and_contents_is_exact() -> None:
    few = [look(stroke=n) for n in range(TURNS)]
    assert unreadable_columns(few[0], few) == frozenset()
    assert LOOKS < TURNS
    assert unreadable_columns(look(), [look()]) == frozenset()
