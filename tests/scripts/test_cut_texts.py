"""A value that a narrow column cuts off is there if the program reports it and the picture shows its beginning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.conditions import is_visible
from tests.support.elements import tree_of
from tests.support.read_runs import screen

CELL = Box(20, 40, 60, 20)


@pytest.mark.parametrize(
    ("role", "reported", "read", "tag", "there"),
    [
        ("cell", "transport", "transp…", "transport", True),
        ("cell", "transport", "trans..", "transport", True),
        ("cell", "transport", "storage…", "transport", False),
        ("cell", "transport", "transp", "transport", False),
        ("cell", "transport", "transp…", "transports", False),
        ("cell", "transport", "t…", "transport", False),
        ("cell", "TX-10482", "TX-104…", "TX-10482", False),
        ("button", "transport", "transp…", "transport", False),
    ],
)
def test_a_value_that_is_cut_off_is_visible(role: str, reported: str, read: str, tag: str, there: bool) -> None:
    sight = replace(screen(), elements=tree_of((role, reported, CELL)), written=lambda box: read)
    assert is_visible("{tag}", {"tag": tag}, sight) is there
