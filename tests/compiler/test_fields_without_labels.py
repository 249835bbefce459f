"""A field without any label is found by its place among the fields below the label of the field above it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.core.screen.geometry import Box, Point
from tests.compiler.test_compile import compiled
from tests.compiler.test_fields_without_names import facts_at
from tests.compiler.test_rows_and_dialogs import Tree, decided
from tests.support.recorded_runs import Act, page, record

PAGE = page((20, 60, "Payee"), (20, 100, "Amount"), (20, 380, "Ready"))
MEMO = Point(300, 150)


def form(*, more: int = 0, label: str = "Amount") -> Tree:
    """Return a form of GTK 3: the fields of payee and amount have labels on their left, and the memo has none."""
    tree = Tree()
    for number, text in enumerate(("Payee", label, *[""] * (1 + more))):
        top = 60 + 40 * number
        if text:
            tree.add("label", text, Box(20, top, 60, 20), tree.window)
        tree.add("text field", "", Box(100, top, 500, 20), tree.window, "editable")
    return tree


def test_the_place_below_the_last_label_is_the_target(tmp_path: Path) -> None:
    facts = facts_at(form(), MEMO)
    assert (facts["below"], facts["place"]) == ("Amount", "1 of 1")
    act = Act(PAGE, at=MEMO, element=facts)
    trace = record(tmp_path, "one", "Enter AB-1207.", [act], page((20, 10, "DONE")), "done")
    playbook, _, text = compiled(tmp_path, trace, params=("number=AB-1207",))
    assert "click: {below: Amount, place: 1 of 1, role: text field}" in text
    call = decided(playbook, "CD-3391", PAGE, form()).step["tool_call"]
    assert (call["tool_name"], call["x"] * 720 // 1000, call["y"] * 420 // 1000) == ("click", 350, 150)
    for other in (form(more=1), form(label="Sum")):
        assert decided(playbook, "CD-3391", PAGE, other).step["tool_call"]["tool_name"] == "wait"


@pytest.mark.parametrize("at", [Point(300, 70), Point(300, 110)])
def test_a_field_with_a_label_keeps_it(at: Point) -> None:
    facts = facts_at(form(), at)
    assert facts["right_of"] in ("Payee", "Amount")
    assert "place" not in facts
