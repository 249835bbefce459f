"""Errors of clicks, toolkits and models are measured, and corrected only if that is worth it."""

from __future__ import annotations

import random

import pytest

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.screen.calibration import (
    Axis,
    Correction,
    Pair,
    axis_of,
    model_bias,
    path_error,
    toolkit_factor,
)
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Box, Point, Size

MARKS = [120.0, 500.0, 880.0] * 3
SIZE = (2000, 1000)


def said(factor: float = 1.0, offset: float = 0.0, scatter: float = 0.0, seed: int = 1) -> list[Pair]:
    chance = random.Random(seed)
    return [(true, round(true * factor + offset + chance.gauss(0, scatter))) for true in MARKS]


def test_the_path_error_is_the_distance_between_sent_and_landed_clicks() -> None:
    found = path_error([(10, 10), (50, 50), (90, 90)], [(10, 10), (53, 54), (90, 90)], [(10, 10), (50, 50), (91, 90)])
    assert found is not None
    assert (found.samples, found.median_px, found.worst_px, found.pointer_px) == (3, 0.0, 5.0, 1.0)
    assert path_error([], [], []) is None


@pytest.mark.parametrize("factor", [1.0, 1.25, 1.5, 2.0, 3.0])
def test_the_scale_of_a_toolkit_is_found_from_its_windows(factor: float) -> None:
    real = Box(100, 50, 1200, 900)
    told = Box(round(100 / factor), round(50 / factor), round(1200 / factor), round(900 / factor))
    found = toolkit_factor(
        "ledger", [(told, real), (Box(0, 0, round(600 / factor), round(300 / factor)), Box(7, 7, 600, 300))]
    )
    assert found is not None
    assert found.factor == factor
    assert found.after_px <= 3 * factor


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [(Box(0, 0, 0, 0), Box(0, 0, 800, 600))],
        [(Box(0, 0, 400, 600), Box(0, 0, 800, 600))],  # different factors across and down
        [(Box(0, 0, 400, 300), Box(0, 0, 800, 600)), (Box(0, 0, 800, 600), Box(0, 0, 800, 600))],
        [(Box(0, 0, 10, 10), Box(0, 0, 800, 800))],
        [(Box(0, 0, -400, -300), Box(0, 0, 800, 600))],
    ],
)
def test_contradicting_boxes_give_no_factor(pairs: list[tuple[Box, Box]]) -> None:
    assert toolkit_factor("ledger", pairs) is None


def test_a_bias_larger_than_its_spread_is_corrected() -> None:
    found = model_bias(said(offset=20, scatter=2), said(offset=-12, scatter=2, seed=2), SIZE)
    assert found is not None
    assert found.correction is not None
    assert found.correction.x.offset == pytest.approx(20, abs=2.5)
    assert found.correction.y.offset == pytest.approx(-12, abs=2.5)
    assert found.after_px < found.before_px / 4


def test_a_silently_downscaled_picture_gets_a_proportional_correction() -> None:
    found = model_bias(said(factor=0.76), said(factor=0.76), SIZE)
    assert found is not None
    assert found.correction is not None
    assert found.correction.x.factor == pytest.approx(0.76, abs=0.002)
    assert found.before_px > 100
    assert found.after_px <= 2


@pytest.mark.parametrize(("offset", "scatter"), [(0, 0), (0, 3), (0, 30), (0, 120), (6, 25)])
def test_errors_that_only_scatter_are_not_corrected(offset: int, scatter: float) -> None:
    """A bias smaller than the spread is not corrected either, because a correction would move clicks without need.

    Nine random marks may look like a bias, but hardly ever do.
    """
    taken = [axis_of(said(offset=offset, scatter=scatter, seed=seed)) != Axis() for seed in range(400)]
    assert sum(taken) <= 6


def test_one_outlier_does_not_change_the_correction() -> None:
    pairs = said(offset=15)
    pairs[4] = (pairs[4][0], 990.0)
    assert axis_of(pairs).offset == pytest.approx(15, abs=1)


def test_too_few_marks_give_no_result() -> None:
    assert model_bias([(1.0, 50.0)] * 4, [(1.0, 50.0)] * 4, SIZE) is None
    assert axis_of([(500.0, 600.0)] * 9) == axis_of([(500.0, 600.0)] * 9)


def shot(correction: Correction | None) -> Shot:
    return Shot(b"", "image/png", "", Size(1000, 500), Size(2000, 1000), "", correction=correction)


def test_a_correction_is_applied_to_coordinates_and_never_clamped() -> None:
    small = Correction(x=Axis(factor=0.5), y=Axis(offset=100))
    assert to_pixel(250, 600, shot(None)) == Point(500, 600)
    assert to_pixel(250, 600, shot(small)) == Point(1000, 500)
    with pytest.raises(UnusableReply, match="off the picture after the correction"):
        to_pixel(600, 600, shot(small))
    with pytest.raises(UnusableReply, match="off the picture after the correction"):
        to_pixel(250, 50, shot(small))
    assert to_pixel(500, 100, shot(small)) == Point(1999, 0)
