"""Compute the most common color of a piece, with and without an absolute majority, and where pixels differ from it."""

from __future__ import annotations

import numpy as np
import pytest

from holo_tasks.vision.changed_regions import BLOCK, changed_blocks, flat_blocks
from holo_tasks.vision.colors import bgr_of, mask_of_other_colors, most_common

PAPER, INK = (250, 251, 3), (0, 128, 255)


def noise(height: int, width: int, levels: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, levels, (height, width, 3), np.uint8)


def counted(pixels: np.ndarray) -> tuple[int, ...]:
    """Return the most common color by counting each color; of several, the lowest."""
    colors, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    return tuple(colors[counts.argmax()].tolist())


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 2), (12, 40), (31, 57)])
@pytest.mark.parametrize("levels", [1, 2, 4, 256])
def test_most_common_equals_the_count_of_all_colors(height: int, width: int, levels: int) -> None:
    for seed in range(5):
        pixels = noise(height + 6, width + 6, levels, seed)[3:-3, 3:-3]
        assert most_common(pixels) == counted(pixels)


def test_a_pattern_on_the_sampling_grid_does_not_mislead() -> None:
    pixels = np.full((40, 40, 3), PAPER, np.uint8)
    pixels[::4, ::4] = INK
    assert most_common(pixels) == PAPER
    few = np.arange(3600, dtype=np.uint8).reshape(30, 40, 3)  # no color has a majority
    few[1::2, 1::8] = PAPER
    assert most_common(few) == counted(few) == PAPER


@pytest.mark.parametrize("color", [PAPER, INK, (0, 0, 0), (255, 255, 255)])
def test_pixels_differ_if_any_channel_does(color: tuple[int, int, int]) -> None:
    pixels = noise(30, 40, 256, 1)
    expected = np.abs(pixels.astype(int) - color).max(axis=2) > 100
    assert (mask_of_other_colors(pixels, color, 100) == expected).all()
    assert 0 < expected.sum() < expected.size


@pytest.mark.parametrize(("height", "width"), [(BLOCK, BLOCK), (50, 70), (64, 48)])
def test_blocks_with_a_single_changed_pixel_are_marked(height: int, width: int) -> None:
    pixels = noise(height, width, 8, 2)
    other = pixels.copy()
    for row, column in ((0, 0), (height - 1, width - 1), (BLOCK - 1, width // 2)):
        for channel in range(3):
            other[:] = pixels
            other[row, column, channel] += 60
            wanted = np.zeros((-(-height // BLOCK), -(-width // BLOCK)), bool)
            wanted[row // BLOCK, column // BLOCK] = True
            assert (changed_blocks(pixels, other) == wanted).all()
            assert (~flat_blocks(other) == wanted).all()


def test_bgr_only_reverses_the_channels() -> None:
    pixels = noise(20, 30, 256, 3)[2:-3, 4:-1]
    assert (bgr_of(pixels) == pixels[:, :, ::-1]).all()
    assert bgr_of(pixels).flags.c_contiguous
