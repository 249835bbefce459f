"""Captured pictures: their conversion to RGB, their hand-over to the other process, and their comparison."""

from __future__ import annotations

import os
import random

import pytest

from holo_tasks.core.screen.geometry import Size
from holo_tasks.core.screen.recheck import WindowStack
from holo_tasks.desktop.capture.recent_frames import _StoredPicture
from holo_tasks.desktop.capture.screen import AT_ONCE, Picture, Screen

WIDTH, HEIGHT = 320, 2 * AT_ONCE // (4 * 320) + 5
"""Larger than the part that is converted at once, and not a multiple."""


def noise(kind: type = bytes) -> Picture:
    return Picture(Size(WIDTH, HEIGHT), kind(random.Random(1).randbytes(4 * WIDTH * HEIGHT)))


def as_rgb(bgrx: bytes) -> bytes:
    return bytes(bgrx[at + color] for at in range(0, len(bgrx), 4) for color in (2, 1, 0))


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_each_color_keeps_its_place(kind):
    picture = noise(kind)
    expected = as_rgb(picture.bgrx)
    screen = Screen.__new__(Screen)
    screen._fd = os.memfd_create("pixels")
    try:
        assert screen.hand_over(picture) == len(expected)
        assert os.pread(screen._fd, len(expected) + 1, 0) == expected
    finally:
        os.close(screen._fd)


@pytest.mark.parametrize("row", range(9))
def test_pictures_that_differ_in_one_pixel_of_any_row_are_different(row):
    before, changed = noise(), bytearray(noise().bgrx)
    changed[4 * WIDTH * row] ^= 1
    stored, same, other = (
        _StoredPicture(each, WindowStack(), 0.0) for each in (before, noise(), Picture(before.size, bytes(changed)))
    )
    stored.pack()
    assert stored.shows_the_same(same)
    assert not stored.shows_the_same(other)
