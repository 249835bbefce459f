"""How far clicks, toolkits and models are off, and what may be done about it: pure statistics.

Three errors are kept apart. The *path* is how far a click lands from where it was sent. A *toolkit* may tell positions
in pixels of its own. A *model* may be off by the same way each time, or in proportion, as where its picture was made
smaller without a word. What is found is corrected only where it is larger than what it scatters by: else a correction
would move clicks about for no reason. Nothing is ever moved back onto a picture: what is off it is refused.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from holo_tasks.core.geometry import Box, Point

FEWEST = 5
"""Fewer samples say nothing about how much they scatter."""
LEAST_BIAS = 1.5
"""Thousandths of the picture: below that it is the rounding of the coordinates themselves."""
LESS = 0.6
"""A correction is worth it if samples that it was not made from are then off by less than so much of before."""
SURELY = 2.0
"""A bias counts as larger than the spread if it is by so much: a few samples tell either with an error."""
WILD = 8.0
SNAP, SLACK = 0.25, 3.0
"""Toolkits scale by quarters; their boxes are off by a few pixels for borders and rounding."""
LEAST_FACTOR, LARGEST_FACTOR = 0.5, 4.0

Pair = tuple[float, float]
"""Where something is, and where it was said to be, along one side of the picture."""


@dataclass(frozen=True)
class Setting:
    """What a calibration holds for.

    ``display`` is "virtual" for a desktop of our own, whose number is another each time. ``area`` is what is seen of
    it, as left, top, width and height; ``scale`` names the scalings that are set. ``quality`` is what makes the
    pictures that the model is sent, with its numbers.
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
    """How far clicks landed from where they were sent, in pixels, and how far the pointer was read from there."""

    samples: int
    median_px: float
    worst_px: float
    pointer_px: float


@dataclass(frozen=True)
class ToolkitFactor:
    """How many pixels of the screen one of a program's own is; errors of its windows' boxes in pixels."""

    application: str
    factor: float
    samples: int
    before_px: float
    after_px: float


@dataclass(frozen=True)
class Axis:
    """Along one side: what was said is ``factor`` times what is, and ``offset`` thousandths more."""

    factor: float = 1.0
    offset: float = 0.0

    @property
    def changes(self) -> bool:
        return (self.factor, self.offset) != (1.0, 0.0)

    def corrected(self, said: float) -> float:
        """Return what is meant by what was said."""
        return (said - self.offset) / self.factor


@dataclass(frozen=True)
class Correction:
    """What is done to a model's coordinates, in thousandths of its picture, before they become pixels."""

    x: Axis = Axis()
    y: Axis = Axis()

    @property
    def changes(self) -> bool:
        return self.x.changes or self.y.changes

    def told(self) -> list[str]:
        """Return it as events hold it: factor and offset across, then down."""
        return [f"{number:.6g}" for axis in (self.x, self.y) for number in (axis.factor, axis.offset)]


@dataclass(frozen=True)
class ModelBias:
    """How far a model is off on a drawn grid, in pixels: what is the same each time, and what it scatters by."""

    samples: int
    bias_px: tuple[float, float]
    spread_px: tuple[float, float]
    before_px: float
    after_px: float
    correction: Correction | None = None


@dataclass(frozen=True)
class Calibration:
    """What was measured in a setting; ``notes`` say what was not, and why."""

    setting: Setting
    path: PathError | None = None
    toolkits: tuple[ToolkitFactor, ...] = ()
    model: ModelBias | None = None
    notes: tuple[str, ...] = ()

    @property
    def correction(self) -> Correction | None:
        """What is to be done to the model's coordinates; None if nothing is."""
        return self.model.correction if self.model else None


@dataclass(frozen=True)
class Pressed:
    """Where a window of our own was pressed, where the pointer is, and where the window is."""

    presses: tuple[Point, ...]
    pointer: Point
    box: Box


def path_error(
    sent: Sequence[tuple[int, int]], landed: Sequence[tuple[int, int]], read: Sequence[tuple[int, int]]
) -> PathError | None:
    """Return how far clicks landed from where they were sent; None if none was seen to land."""
    off = [_distance(one, other) for one, other in zip(sent, landed, strict=False)]
    if not off:
        return None
    pointer = max((_distance(one, other) for one, other in zip(sent, read, strict=False)), default=0.0)
    return PathError(
        samples=len(off), median_px=_rounded(statistics.median(off)), worst_px=_rounded(max(off)), pointer_px=pointer
    )


def toolkit_factor(application: str, pairs: Sequence[tuple[Box, Box]]) -> ToolkitFactor | None:
    """Return the factor of a program, by what it and the X server say of its windows; None where that does not fit.

    Each pair is the box of a window as the accessibility tree tells it, and as the X server has it. Sizes tell the
    factor: positions may be relative to the window. It has to be the same for all, in both directions.
    """
    sound = [(told, real) for told, real in pairs if told.width > 0 and told.height > 0 and real.area > 0]
    if not sound:
        return None
    ratios = [ratio for told, real in sound for ratio in (real.width / told.width, real.height / told.height)]
    middle = statistics.median(ratios)
    for factor in (1.0, round(middle / SNAP) * SNAP, middle):
        if LEAST_FACTOR <= factor <= LARGEST_FACTOR and all(_fits(told, real, factor) for told, real in sound):
            before = max(_misfit(told, real, 1.0) for told, real in sound)
            after = max(_misfit(told, real, factor) for told, real in sound)
            return ToolkitFactor(
                application=application, factor=round(factor, 4), samples=len(sound), before_px=before, after_px=after
            )
    return None


def model_bias(across: Sequence[Pair], down: Sequence[Pair], size: tuple[int, int]) -> ModelBias | None:
    """Return how far a model is off, from where marks are and where it said, in thousandths; None of too few marks.

    ``size`` is the picture's in pixels. It comes with a correction where that is worth it.
    """
    if len(across) != len(down) or len(across) < FEWEST:
        return None
    axes = axis_of(across), axis_of(down)
    correction = Correction(x=axes[0], y=axes[1])
    before = [_distance(*_pixels((x, y), size)) for x, y in zip(across, down, strict=True)]
    after = [
        _distance(*_pixels(((x[0], axes[0].corrected(x[1])), (y[0], axes[1].corrected(y[1]))), size))
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
    """Return the correction along one side: none, unless the bias is larger than the spread that it leaves.

    What is the same everywhere is tried first, then what is in proportion. Either has to hold for samples that it was
    not made from.
    """
    if len(pairs) < FEWEST:
        return Axis()
    best, least = Axis(), LESS * _typical([said - true for true, said in pairs])
    for made in (_offset, _line):
        axis = made(pairs)
        left = [axis.corrected(said) - true for true, said in pairs]
        if _systematic(axis, pairs) <= max(LEAST_BIAS, SURELY * _scatter(left)):
            continue
        unseen = _typical(_left_out(pairs, made))
        if unseen < least:
            best, least = axis, LESS * unseen  # what is more involved has to be better by as much again
    return Axis(factor=round(best.factor, 6), offset=round(best.offset, 4))


def _offset(pairs: Sequence[Pair]) -> Axis:
    return Axis(offset=statistics.median([said - true for true, said in pairs]))


def _line(pairs: Sequence[Pair]) -> Axis:
    """Return the line through the samples that a few wrong ones do not move (Theil and Sen)."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(pairs, 2) if a[0] != b[0]]
    factor = statistics.median(slopes) if slopes else 1.0
    if not LEAST_FACTOR / 4 <= factor <= LARGEST_FACTOR:
        return _offset(pairs)
    return Axis(factor=factor, offset=statistics.median([said - factor * true for true, said in pairs]))


def _left_out(pairs: Sequence[Pair], made: Callable[[Sequence[Pair]], Axis]) -> list[float]:
    """Return how far each sample is off after a correction that was made from the others."""
    return [
        made([*pairs[:place], *pairs[place + 1 :]]).corrected(said) - true for place, (true, said) in enumerate(pairs)
    ]


def _systematic(axis: Axis, pairs: Sequence[Pair]) -> float:
    """Return how far off the samples are by what is the same each time."""
    return _typical([axis.factor * true + axis.offset - true for true, _ in pairs])


def _bias(pairs: Sequence[Pair]) -> float:
    return _systematic(_line(pairs), pairs)


def _spread(pairs: Sequence[Pair]) -> float:
    """Return what the samples scatter by, beside what is the same or in proportion."""
    line = _line(pairs)
    return _scatter([line.corrected(said) - true for true, said in pairs])


def _typical(errors: Sequence[float]) -> float:
    return statistics.median([abs(error) for error in errors])


def _scatter(errors: Sequence[float]) -> float:
    """Return the standard deviation, without a single wild answer: one that is off by many times that of the others."""
    middle = statistics.median(errors)
    *others, furthest = sorted(errors, key=lambda error: abs(error - middle))
    spread = statistics.stdev(others)
    return spread if abs(furthest - middle) > max(WILD * spread, WILD) else statistics.stdev(errors)


def _fits(told: Box, real: Box, factor: float) -> bool:
    return _misfit(told, real, factor) <= SLACK * max(1.0, factor)


def _misfit(told: Box, real: Box, factor: float) -> float:
    return _rounded(max(abs(told.width * factor - real.width), abs(told.height * factor - real.height)))


def _pixels(pairs: tuple[Pair, Pair], size: tuple[int, int]) -> tuple[Pair, Pair]:
    (x, said_x), (y, said_y) = pairs
    across, down = (side / 1000 for side in size)
    return (x * across, y * down), (said_x * across, said_y * down)


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    return _rounded(((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5)


def _rounded(number: float) -> float:
    return round(float(number), 2)
