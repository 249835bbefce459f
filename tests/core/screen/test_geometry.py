"""Operations on boxes agree with the sets of their pixels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.screen.geometry import Box, Point, Size

places = st.integers(-4, 6)
boxes = st.builds(Box, places, places, st.integers(1, 5), st.integers(1, 5))
points = st.builds(Point, places, places)
SCREEN = Size(4, 3)


def pixels(box: Box | None) -> set[Point]:
    if box is None:
        return set()
    return {Point(x, y) for x in range(box.left, box.right) for y in range(box.top, box.bottom)}


@given(boxes, boxes, points)
def test_boxes_intersect_exactly_where_their_pixels_do(one: Box, other: Box, point: Point) -> None:
    shared = pixels(one) & pixels(other)
    assert one.contains(point) == (point in pixels(one))
    assert one.encloses(other) == (pixels(other) <= pixels(one))
    assert one.intersects(other) == bool(shared)
    assert pixels(one.intersection(other)) == shared
    assert pixels(one.cut_to(other)) == (shared or pixels(other))
    assert pixels(one.clipped(SCREEN)) == pixels(one) & pixels(Box.whole(SCREEN))
    assert one.area == len(pixels(one))
    assert one == Box.of_corners(*one.corners)


@given(boxes, boxes, st.integers(0, 3))
def test_boxes_grow_move_and_enclose_others(one: Box, other: Box, by: int) -> None:
    near = {
        Point(p.x + right, p.y + down) for p in pixels(one) for right in range(-by, by + 1) for down in (-by, 0, by)
    }
    assert pixels(one.grown(by)) >= near
    assert one.grown(by).area == (one.width + 2 * by) * (one.height + 2 * by)
    assert one.encloses(other, slack=by) == one.grown(by).encloses(other)
    assert pixels(one.moved(by, -1)) == {Point(p.x + by, p.y - 1) for p in pixels(one)}
    whole = Box.around(iter((one, other)))
    assert whole.encloses(one)
    assert whole.encloses(other)
    assert set(whole.corners) <= {*one.corners, *other.corners}
    assert (one.gap(other) == 0) == one.grown(1).intersects(other)


@given(points, st.integers(0, 3), st.integers(0, 3))
def test_the_box_near_a_point_is_symmetrical(point: Point, across: int, down: int) -> None:
    near = Box.near(point, across, down)
    assert near.center == point
    assert (near.width, near.height) == (2 * across + 1, 2 * down + 1)


def test_there_is_no_box_around_nothing() -> None:
    with pytest.raises(ValueError, match="empty"):
        Box.around([])
