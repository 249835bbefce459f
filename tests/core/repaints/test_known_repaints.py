"""The text with hints about self-repainting places is parsed strictly, whatever it contains."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.repaints.known_repaints import (
    MOST_BYTES,
    MOST_PLACES,
    NO_WINDOW,
    OLDEST_S,
    KnownPlace,
    read,
    still_there,
    to_text,
    with_windows,
)
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.recheck import StackedWindow, WindowStack

SIZE, SCREEN, NOW_S = Size(1280, 800), "a" * 32, 1000.0
WINDOW = StackedWindow(0x400001, Box(100, 80, 760, 460))
CLOCK = Box(560, 136, 72, 16)
PLACE = KnownPlace(WINDOW, CLOCK, 1.0)
TEXT = to_text([PLACE], SCREEN, SIZE, NOW_S).encode()


def changed(**values: object) -> bytes:
    return json.dumps(json.loads(TEXT) | values).encode()


def with_place(**values: object) -> bytes:
    return changed(places=[json.loads(TEXT)["places"][0] | values])


def test_a_place_survives_writing_and_reading() -> None:
    assert read(TEXT, SCREEN, SIZE, NOW_S) == [PLACE]
    assert read(TEXT, SCREEN, SIZE, NOW_S + OLDEST_S) == [PLACE]


def test_hints_of_another_server_size_or_time_are_ignored() -> None:
    assert read(TEXT, "b" * 32, SIZE, NOW_S) == []
    assert read(TEXT, SCREEN, Size(1280, 801), NOW_S) == []
    assert read(TEXT, SCREEN, SIZE, NOW_S + OLDEST_S + 1) == []
    assert read(TEXT, SCREEN, SIZE, NOW_S - 1) == []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        TEXT[: len(TEXT) // 2],
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"[" * (MOST_BYTES - 1),
        TEXT + b" " * MOST_BYTES,
        b"null",
        b"[1]",
        changed(version=2),
        changed(version=True),
        changed(at_s="1"),
        changed(at_s=True),
        changed(at_s=10**400),
        TEXT.replace(b"1000.0", b"NaN"),
        TEXT.replace(b"1000.0", b"-Infinity"),
        changed(places={}),
        changed(places=[1, None, [], {}]),
        with_place(window="1"),
        with_place(window=1 << 80),
        with_place(pane=[0, 0, 1]),
        with_place(pane=[0, 0, -1, 1]),
        with_place(box=[560.5, 136, 72, 16]),
        with_place(box=[561, 136, 72, 16]),
        with_place(box=[-8, 136, 72, 16]),
        with_place(box=[560, 136, 0, 16]),
        with_place(box=[0, 0, 1280, 800]),
        with_place(box=[0, 0, 1 << 31, 1 << 31]),
        with_place(pace_s=0),
        with_place(pace_s=60),
        with_place(pace_s=None),
        with_place(pace_s=True),
    ],
)
def test_a_malformed_text_gives_no_places(text: bytes) -> None:
    assert read(text, SCREEN, SIZE, NOW_S) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read_without_an_error(text: bytes) -> None:
    assert read(text, SCREEN, SIZE, NOW_S) == []


@given(st.sampled_from(["window", "pane", "box", "pace_s"]), JSON)
def test_any_json_value_can_be_read_without_an_error(name: str, value: Any) -> None:
    for place in read(with_place(**{name: value}), SCREEN, SIZE, NOW_S):
        assert 0 < place.box.area <= SIZE.width * SIZE.height
        assert place.pace_s > 0


def test_the_number_of_written_places_is_limited() -> None:
    places = with_windows(
        [(Box(8 * number, 0, 8, 8), 0.5) for number in range(3 * MOST_PLACES)], WindowStack((WINDOW,))
    )
    text = to_text(places, SCREEN, SIZE, NOW_S).encode()
    assert len(text) <= MOST_BYTES
    assert read(text, SCREEN, SIZE, NOW_S) == places
    assert len(places) == MOST_PLACES


def test_a_place_counts_only_under_its_original_window() -> None:
    bare, over = Box(0, 0, 16, 16), StackedWindow(0x600001, Box(600, 100, 200, 200))
    windows = WindowStack((WINDOW,))
    places = with_windows([(CLOCK, 1.0), (bare, 0.5)], windows)
    assert [place.pane for place in places] == [WINDOW, NO_WINDOW]
    assert still_there(places, windows) == [(CLOCK, 1.0), (bare, 0.5)]
    assert still_there(places, WindowStack((WINDOW, over))) == [(bare, 0.5)]
    for other in (StackedWindow(WINDOW.window, WINDOW.box.moved(8, 0)), StackedWindow(7, WINDOW.box)):
        assert still_there(places, WindowStack((other,))) == [(bare, 0.5)]
