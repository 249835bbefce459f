"""The fast searches for changed pixels find the same places as plain ones."""

from __future__ import annotations

import random

import pytest
from PIL import Image, ImageChops, ImageDraw

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Size
from holo_tasks.core.screen.verdicts import ROWS, changed_box
from holo_tasks.core.screen.visible_change import _connected


def filled(mask: Image.Image, seeds: set[tuple[int, int]]) -> tuple[int, int, int, int] | None:
    plain = mask.point([0] + [255] * 255)
    for seed in seeds:
        if plain.getpixel(seed) == 255:
            ImageDraw.floodfill(plain, seed, 128)
    return plain.point([255 if level == 128 else 0 for level in range(256)]).getbbox()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.6, 0.7, 1.0])
def test_connected_pixels_are_those_of_a_flood_fill(share: float) -> None:
    chance = random.Random(share)
    for _ in range(20):
        width, height = chance.randint(1, 30), chance.randint(1, 20)
        mask = Image.new("L", (width, height))
        mask.putdata([chance.choice((1, 255)) if chance.random() < share else 0 for _ in range(width * height)])
        seeds = {(chance.randrange(width), chance.randrange(height)) for _ in range(3)}
        assert _connected(mask, seeds) == filled(mask, seeds)


@pytest.mark.parametrize("height", [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS + 5])
def test_the_changed_box_is_that_of_all_pixels(height: int) -> None:
    chance, width = random.Random(height), 7
    before = Image.new("RGB", (width, height), "white")
    for _ in range(20):
        after = before.copy()
        for _ in range(chance.randint(1, 3)):
            after.putpixel((chance.randrange(width), chance.randrange(height)), (255, 255, 254))
        frames = [Frame(each.tobytes(), Size(width, height), ":1") for each in (before, after)]
        found = changed_box(*frames)
        assert found is not None
        assert found.corners == ImageChops.difference(before, after).getbbox()
