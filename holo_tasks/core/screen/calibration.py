"""Measure how far clicks, toolkits and models miss their targets, and derive corrections. Statistics only.

Three errors are separate. The *path* error is the distance from where a click was sent to where it lands. A *toolkit*
may report positions in scaled pixels. A *model* may have a constant or proportional error, for example if its picture
was downscaled silently. An error is corrected only if it is larger than its spread: otherwise a correction would move
clicks without need. Coordinates off the picture are never moved back onto it; they are refused.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from holo_tasks.core.screen.geometry import Box, Point

FEWEST = 5
"""Least number of samples from which a spread can be estimated."""
LEAST_BIAS = 1.5
"""Thousandths of the picture. A smaller bias is the rounding of the coordinates."""
LESS = 0.6
"""A correction is used if it reduces the error of samples that it was not made from to less than this share."""
SURELY = 2.0
"""A bias must exceed the spread by this factor, because both are estimated from few samples."""
WILD = 8.0
SNAP, SLACK = 0.25, 3.0
"""Toolkits scale in quarters. Borders and rounding change their boxes by up to ``SLACK`` pixels."""
LEAST_FACTOR, LARGEST_FACTOR = 0.5, 4.0

Pair = tuple[float, float]
"""The true position and the position that the model gave, along one side of the picture."""


@dataclass(frozen=True)
class Setting:
    """The conditions under which a calibration is valid.

    ``display`` is "virtual" for a desktop that this library started, because its number changes. ``area`` is the
    captured part of the screen, as left, top, width and height. ``scale`` names the configured scaling factors.
    ``quality`` describes the encoder of the model's pictures and its settings.
    """

    display: str
    area: tuple[int, int, int, int]
    screen: tuple[int, int]
    scale: str
    window_manager: str
    model: str = ""
    quality: str = ""


@dataclass(frozen=True)
class PathError:
    """Distances in pixels: from where clicks were sent to where they landed, and the largest error of the pointer.

    ``pointer_px`` compares the pointer's reported position with the sent one.
    """

    samples: int
    median_px: float
    worst_px: float
    pointer_px: float


@dataclass(frozen=True)
class ToolkitFactor:
    """The number of screen pixels per pixel of a program, and the errors of its windows' boxes in pixels."""

    application: str
    factor: float
    samples: int
    before_px: float
    after_px: float


@dataclass(frozen=True)
class Axis:
    """The error along one side: the model's value is ``factor`` times the true value plus ``offset`` thousandths."""

    factor: float = 1.0
    offset: float = 0.0

    @property
    def changes(self) -> bool:
        return (self.factor, self.offset) != (1.0, 0.0)

    def corrected(self, model_value: float) -> float:
        """Return the true value for a value from the model."""
        return (model_value - self.offset) / self.factor

    def before_correction(self, meant: float) -> float:
        """Return the coordinate that has to be said for one that is meant: the inverse of `corrected`."""
        return meant * self.factor + self.offset


@dataclass(frozen=True)
class Correction:
    """The correction of a model's coordinates, in thousandths of its picture, before they become pixels."""

    x: Axis = Axis()
    y: Axis = Axis()

    @property
    def changes(self) -> bool:
        return self.x.changes or self.y.changes

    def event_values(self) -> list[str]:
        """Return the correction in the form used by events: factor and offset across, then down."""
        return [f"{number:.6g}" for axis in (self.x, self.y) for number in (axis.factor, axis.offset)]


@dataclass(frozen=True)
class ModelBias:
    """The error of a model on a drawn grid, in pixels: the systematic bias and the spread."""

    samples: int
    bias_px: tuple[float, float]
    spread_px: tuple[float, float]
    before_px: float
    after_px: float
    correction: Correction | None = None


@dataclass(frozen=True)
class Calibration:
    """The measurements made in a setting. ``notes`` list what could not be measured, and the reasons."""

    setting: Setting
    path: PathError | None = None
    toolkits: tuple[ToolkitFactor, ...] = ()
    model: ModelBias | None = None
    notes: tuple[str, ...] = ()

    @property
    def correction(self) -> Correction | None:
        """The correction of the model's coordinates, or ``None``."""
        return self.model.correction if self.model else None


@dataclass(frozen=True)
class ReceivedPresses:
    """The presses that a test window received, the pointer's position, and the window's box."""

    presses: tuple[Point, ...]
    pointer: Point
    box: Box


def path_error(
    sent: Sequence[tuple[int, int]], landed: Sequence[tuple[int, int]], read: Sequence[tuple[int, int]]
) -> PathError | None:
    """Return the distance from where clicks were sent to where they landed, or ``None`` if none landed."""
    off = [_distance(one, other) for one, other in zip(sent, landed, strict=False)]
    if not off:
        return None
    pointer = max((_distance(one, other) for one, other in zip(sent, read, strict=False)), default=0.0)
    return PathError(
        samples=len(off), median_px=_rounded(statistics.median(off)), worst_px=_rounded(max(off)), pointer_px=pointer
    )


def toolkit_factor(application: str, pairs: Sequence[tuple[Box, Box]]) -> ToolkitFactor | None:
    """Return the scale factor of a program, or ``None`` if its boxes do not fit any factor.

    Each pair is the box of a window from the accessibility tree and its box from the X server. Only sizes are compared,
    because positions may be relative to the window. The factor must be the same for all windows and in both directions.
    """
    sound = [
        (reported, real) for reported, real in pairs if reported.width > 0 and reported.height > 0 and real.area > 0
    ]
    if not sound:
        return None
    ratios = [
        ratio for reported, real in sound for ratio in (real.width / reported.width, real.height / reported.height)
    ]
    middle = statistics.median(ratios)
    for factor in (1.0, round(middle / SNAP) * SNAP, middle):
        if LEAST_FACTOR <= factor <= LARGEST_FACTOR and all(_fits(reported, real, factor) for reported, real in sound):
            before = max(_misfit(reported, real, 1.0) for reported, real in sound)
            after = max(_misfit(reported, real, factor) for reported, real in sound)
            return ToolkitFactor(
                application=application, factor=round(factor, 4), samples=len(sound), before_px=before, after_px=after
            )
    return None


def model_bias(across: Sequence[Pair], down: Sequence[Pair], size: tuple[int, int]) -> ModelBias | None:
    """Return the error of a model, from pairs of true and given positions in thousandths; ``None`` for too few pairs.

    ``size`` is the picture's size in pixels. The result includes a correction if one is worth it.
    """
    if len(across) != len(down) or len(across) < FEWEST:
        return None
    axes = axis_of(across), axis_of(down)
    correction = Correction(x=axes[0], y=axes[1])
    before = [_distance(*_in_pixels((x, y), size)) for x, y in zip(across, down, strict=True)]
    after = [
        _distance(*_in_pixels(((x[0], axes[0].corrected(x[1])), (y[0], axes[1].corrected(y[1]))), size))
        for x, y in zip(across, down, strict=True)
    ]
    scale = [side / 1000 for side in size]
    return ModelBias(
        samples=len(across),
        bias_px=(_rounded(_bias(across) * scale[0]), _rounded(_bias(down) * scale[1])),
        spread_px=(_rounded(_spread(across) * scale[0]), _rounded(_spread(down) * scale[1])),
        before_px=_rounded(statistics.median(before)),
        after_px=_rounded(statistics.median(after)),
        correction=correction if correction.changes else None,
    )


def axis_of(pairs: Sequence[Pair]) -> Axis:
    """Return the correction along one side. It changes nothing unless the bias exceeds the spread that remains.

    A constant offset is tried before a proportional error. Either must also hold for samples that it was not made from.
    """
    if len(pairs) < FEWEST:
        return Axis()
    best, least = Axis(), LESS * _median_size([said - true for true, said in pairs])
    for made in (_offset, _line):
        axis = made(pairs)
        left = [axis.corrected(said) - true for true, said in pairs]
        if _systematic(axis, pairs) <= max(LEAST_BIAS, SURELY * _scatter(left)):
            continue
        unseen = _median_size(_cross_validated_errors(pairs, made))
        if unseen < least:
            best, least = axis, LESS * unseen  # the more complex correction must improve on this by the same share
    return Axis(factor=round(best.factor, 6), offset=round(best.offset, 4))


def _offset(pairs: Sequence[Pair]) -> Axis:
    return Axis(offset=statistics.median([said - true for true, said in pairs]))


def _line(pairs: Sequence[Pair]) -> Axis:
    """Fit a line to the samples that tolerates a few outliers (Theil–Sen estimator)."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(pairs, 2) if a[0] != b[0]]
    factor = statistics.median(slopes) if slopes else 1.0
    if not LEAST_FACTOR / 4 <= factor <= LARGEST_FACTOR:
        return _offset(pairs)
    return Axis(factor=factor, offset=statistics.median([said - factor * true for true, said in pairs]))


def _cross_validated_errors(pairs: Sequence[Pair], made: Callable[[Sequence[Pair]], Axis]) -> list[float]:
    """Return the remaining error of each sample after a correction made from the others."""
    return [
        made([*pairs[:place], *pairs[place + 1 :]]).corrected(said) - true for place, (true, said) in enumerate(pairs)
    ]


def _systematic(axis: Axis, pairs: Sequence[Pair]) -> float:
    """Return the size of the systematic error of the samples."""
    return _median_size([axis.factor * true + axis.offset - true for true, _ in pairs])


def _bias(pairs: Sequence[Pair]) -> float:
    return _systematic(_line(pairs), pairs)


def _spread(pairs: Sequence[Pair]) -> float:
    """Return the residual spread of the samples after removing offset and scale."""
    line = _line(pairs)
    return _scatter([line.corrected(said) - true for true, said in pairs])


def _median_size(errors: Sequence[float]) -> float:
    return statistics.median([abs(error) for error in errors])


def _scatter(errors: Sequence[float]) -> float:
    """Return the standard deviation without a single outlier, which is off by many times the spread of the others."""
    middle = statistics.median(errors)
    *others, furthest = sorted(errors, key=lambda error: abs(error - middle))
    spread = statistics.stdev(others)
    return spread if abs(furthest - middle) > max(WILD * spread, WILD) else statistics.stdev(errors)


def _fits(reported: Box, real: Box, factor: float) -> bool:
    return _misfit(reported, real, factor) <= SLACK * max(1.0, factor)


def _misfit(reported: Box, real: Box, factor: float) -> float:
    return _rounded(max(abs(reported.width * factor - real.width), abs(reported.height * factor - real.height)))


def _in_pixels(pairs: tuple[Pair, Pair], size: tuple[int, int]) -> tuple[Pair, Pair]:
    (x, said_x), (y, said_y) = pairs
    across, down = (side / 1000 for side in size)
    return (x * across, y * down), (said_x * across, said_y * down)


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    return _rounded(((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5)


def _rounded(number: float) -> float:
    return round(float(number), 2)
