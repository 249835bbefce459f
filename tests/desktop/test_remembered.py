"""The pictures that input is compared with: small once newer ones are there, and the same all the time."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.geometry import Size
from holo_tasks.desktop import recent_frames
from holo_tasks.desktop.recent_frames import AT_HAND, FEWEST, Remembered
from holo_tasks.desktop.screen import Picture

SIZE = Size(640, 400)
RAW = 4 * SIZE.width * SIZE.height


def taken(text: str) -> Picture:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    ImageDraw.Draw(image).text((20, 20), text, fill="black")
    return Picture(SIZE, image.tobytes("raw", "BGRX"))


def remembered() -> Any:
    nothing = cast("Any", SimpleNamespace())
    return Remembered(nothing, nothing, nothing, nothing)


def until_packed(pictures: Any) -> None:
    until = time.monotonic() + 30
    while not all(known.packed for known in list(pictures._kept.values())[:-AT_HAND]):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_older_pictures_are_packed_and_come_out_as_they_were() -> None:
    pictures = remembered()
    numbers = {pictures.keep(taken(f"screen {number}")): number for number in range(8)}
    until_packed(pictures)
    assert len(numbers) == 8
    for key, number in numbers.items():
        assert pictures._kept[key].sighting().pixels == taken(f"screen {number}")
    assert sum(known.bytes for known in pictures._kept.values()) < (AT_HAND + 1) * RAW


def test_the_same_screen_has_the_same_number_also_when_it_is_packed() -> None:
    pictures = remembered()
    first = pictures.keep(taken("first"))
    for number in range(3):
        pictures.keep(taken(f"screen {number}"))
    until_packed(pictures)
    assert pictures._kept[first].packed
    assert pictures.keep(taken("first")) == first
    assert pictures.keep(taken("First")) != first


def test_what_is_kept_has_a_bound_but_for_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_frames, "MOST_BYTES", RAW)
    pictures, size = remembered(), Size(400, 200)
    for _ in range(FEWEST + 3):
        pictures.keep(Picture(size, os.urandom(4 * size.width * size.height)))
    assert len(pictures._kept) == FEWEST
    assert FEWEST * 4 * size.width * size.height > RAW
