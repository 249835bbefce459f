"""What is measured of clicks, toolkits and models, and when it is corrected."""

from __future__ import annotations

import random

import pytest

from holo_tasks.core.calibration import (
    Axis,
    Correction,
    Pair,
    axis_of,
    model_bias,
    path_error,
    toolkit_factor,
)
from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.frame import Shot
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.scaling import to_pixel

MARKS = [120.0, 500.0, 880.0] * 3
SIZE = (2000, 1000)


def said(factor: float = 1.0, offset: float = 0.0, scatter: float = 0.0, seed: int = 1) -> list[Pair]:
    chance = random.Random(seed)
    return [(true, round(true * factor + offset + chance.gauss(0, scatter))) for true in MARKS]


def test_the_path_is_how_far_clicks_land_from_where_they_were_sent() -> None:
    found = path_error([(10, 10), (50, 50), (90, 90)], [(10, 10), (53, 54), (90, 90)], [(10, 10), (50, 50), (91, 90)])
    assert found is not None
    assert (found.samples, found.median_px, found.worst_px, found.pointer_px) == (3, 0.0, 5.0, 1.0)
    assert path_error([], [], []) is None


@pytest.mark.parametrize("factor", [1.0, 1.25, 1.5, 2.0, 3.0])
def test_a_toolkit_that_tells_its_own_pixels_is_found_out_by_its_windows(factor: float) -> None:
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
        [(Box(0, 0, 400, 600), Box(0, 0, 800, 600))],  # another factor across than down
        [(Box(0, 0, 400, 300), Box(0, 0, 800, 600)), (Box(0, 0, 800, 600), Box(0, 0, 800, 600))],
        [(Box(0, 0, 10, 10), Box(0, 0, 800, 800))],
        [(Box(0, 0, -400, -300), Box(0, 0, 800, 600))],
    ],
)
def test_what_does_not_fit_together_is_no_factor(pairs: list[tuple[Box, Box]]) -> None:
    assert toolkit_factor("ledger", pairs) is None


def test_a_bias_that_is_larger_than_its_spread_is_corrected() -> None:
    found = model_bias(said(offset=20, scatter=2), said(offset=-12, scatter=2, seed=2), SIZE)
    assert found is not None
    assert found.correction is not None
    assert found.correction.x.offset == pytest.approx(20, abs=2.5)
    assert found.correction.y.offset == pytest.approx(-12, abs=2.5)
    assert found.after_px < found.before_px / 4


def test_a_picture_that_was_made_smaller_without_a_word_is_corrected_in_proportion() -> None:
    found = model_bias(said(factor=0.76), said(factor=0.76), SIZE)
    assert found is not None
    assert found.correction is not None
    assert found.correction.x.factor == pytest.approx(0.76, abs=0.002)
    assert found.before_px > 100
    assert found.after_px <= 2


@pytest.mark.parametrize(("offset", "scatter"), [(0, 0), (0, 3), (0, 30), (0, 120), (6, 25)])
def test_what_only_scatters_is_left_alone(offset: int, scatter: float) -> None:
    """Also with a bias that is smaller than the spread: to correct it would move clicks about for no reason.

    Nine marks by chance look like a bias now and then: hardly ever.
    """
    taken = [axis_of(said(offset=offset, scatter=scatter, seed=seed)) != Axis() for seed in range(400)]
    assert sum(taken) <= 6


def test_one_wild_answer_does_not_move_the_rest() -> None:
    pairs = said(offset=15)
    pairs[4] = (pairs[4][0], 990.0)
    assert axis_of(pairs).offset == pytest.approx(15, abs=1)


def test_too_few_marks_say_nothing() -> None:
    assert model_bias([(1.0, 50.0)] * 4, [(1.0, 50.0)] * 4, SIZE) is None
    assert axis_of([(500.0, 600.0)] * 9) == axis_of([(500.0, 600.0)] * 9)


def shot(correction: Correction | None) -> Shot:
    return Shot(b"", "image/png", "", Size(1000, 500), Size(2000, 1000), "", correction=correction)


def test_a_correction_is_applied_as_coordinates_become_pixels_and_nothing_is_clamped() -> None:
    small = Correction(x=Axis(factor=0.5), y=Axis(offset=100))
    assert to_pixel(250, 600, shot(None)) == Point(500, 600)
    assert to_pixel(250, 600, shot(small)) == Point(1000, 500)
    with pytest.raises(UnusableReply, match="puts off the picture"):
        to_pixel(600, 600, shot(small))
    with pytest.raises(UnusableReply, match="puts off the picture"):
        to_pixel(250, 50, shot(small))
    assert to_pixel(500, 100, shot(small)) == Point(1999, 0)
