"""The label of a field is determined by the positions of texts and fields."""

from __future__ import annotations

import pytest

from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.field_labels import labels_of
from holo_tasks.vision.screen_text import Line

FIELD = Box(300, 100, 200, 26)


def text(said: str, left: int, top: int) -> Line:
    return Line(said, Box(left, top, 9 * len(said), 18))


@pytest.mark.parametrize(
    ("lines", "fields", "others", "named"),
    [
        ([text("Password", 200, 104)], [], [], ["Password"]),
        ([text("Password", 300, 78)], [], [], ["Password"]),
        ([text("Log in", 300, 78), text("Password", 100, 104)], [], [], ["Password", "Log in"]),
        ([text("Password", 310, 60)], [Box(300, 54, 200, 26)], [], []),  # text inside the field above
        ([text("Password", 60, 104)], [Box(50, 100, 200, 26)], [], []),  # text inside the field on the left
        ([text("Password", 20, 104)], [Box(150, 100, 140, 26)], [], []),  # the label of the field between
        ([text("Password", 20, 104)], [], [Box(150, 100, 140, 26)], []),  # the area between may be a button
        ([text("Password", 150, 104)], [], [Box(240, 100, 24, 26)], ["Password"]),  # an icon
        ([text("Password", 300, 70)], [], [Box(290, 90, 220, 8)], []),
        ([text("Password", 300, 78)], [Box(390, 74, 200, 22)], [], []),  # the label of the other field on its row
        ([text("Password", 300, 78)], [Box(700, 74, 200, 22)], [], ["Password"]),  # the other field is too far away
        ([text("Password", 300, 78), text("Find", 400, 78)], [Box(450, 74, 90, 22)], [], ["Password"]),
        ([text("Password", 100, 104), text("Comment", 300, 78)], [Box(100, 126, 180, 26)], [], ["Comment"]),
        ([text("Password", 100, 104), text("Log in", 300, 78)], [], [Box(100, 126, 80, 26)], ["Password", "Log in"]),
        ([text("Password", 310, 104)], [], [Box(0, 0, 800, 600)], []),  # text inside the field itself
        ([text("Password", 200, 104)], [], [Box(0, 0, 800, 600)], ["Password"]),
    ],
)
def test_a_label_is_next_to_or_above_its_field_and_belongs_to_one_field(
    lines: list[Line], fields: list[Box], others: list[Box], named: list[str]
) -> None:
    assert sorted(labels_of(FIELD, [FIELD, *fields, *others], [FIELD, *fields], lines)) == sorted(named)
