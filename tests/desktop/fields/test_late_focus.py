"""The control with the keyboard is read as soon as a late program has answered, and is unknown if it hangs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ACTIVE, FOCUSED, SHOWING, TOO_LATE, Application, Element, ElementTree
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.fields import focused_field
from holo_tasks.desktop.fields.focused_field import FocusedField
from holo_tasks.desktop.stop.interrupt import Interrupt

PID = 7


def tree(note: str) -> ElementTree:
    window = Element(0, "window", "Form", frozenset({SHOWING, ACTIVE}), Box(0, 0, 99, 99), -1, "form", PID)
    states = frozenset({SHOWING, FOCUSED, "editable"})
    field = Element(1, "text field", "Name", states, Box(0, 0, 99, 20), 0, "form", PID)
    return ElementTree((window, field), (Application("form", PID, "gtk", "cache", 1.0, note),))


class Elements:
    def __init__(self, trees: Iterator[ElementTree]) -> None:
        self.trees = trees

    def read(self, interrupt: Interrupt, pid: int) -> ElementTree:
        assert pid == PID, "no other program is waited for"
        return next(self.trees)


@pytest.mark.parametrize(("late", "kind"), [(0, "field"), (3, "field"), (1000, "unknown")])
def test_the_focus_of_a_late_program(late: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(10_000))
    monkeypatch.setattr(focused_field.time, "monotonic", lambda: 0.1 * next(times))
    elements: Any = Elements(iter([*[tree(TOO_LATE)] * late, tree("")]))
    focused = FocusedField(elements, lambda: Owner("/usr/bin/form", pid=PID), Interrupt())
    assert focused.read().kind == kind
    assert (focused.tree is not None) is (kind == "field")
