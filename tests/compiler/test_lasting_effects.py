"""Only effects that last until the next step are required after a step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.compiler import compile as compiling
from holo_tasks.compiler.dry_run import DryRunMismatch
from holo_tasks.scripts.playbook import Playbook
from tests.compiler.test_compile import calls, compiled, decisions
from tests.support.recorded_runs import Act, Page, page, record

FOUND, PREVIEW = page((20, 10, "ORDERS"), (20, 60, "Open"), (20, 380, "Ready")), "PREVIEW OF THE ORDER"


def form(remark: str = "") -> Page:
    return page((20, 10, "ORDER RECORD"), (20, 60, "Remark"), (20, 300, "Store"), fields=[(120, 60, remark)])


def acts() -> list[Act]:
    return [Act(FOUND, click="Open"), Act(form(), click="Remark"), Act(form(), write="pays late")]


def text_of(home: Path, name: str, steps: list[Act]) -> tuple[str, list[str]]:
    """Return the compiled text, and its calls over the recorded pages with another remark."""
    trace = record(home, name, "Enter the remark.", steps, form("pays late"), "")
    playbook, _, text = compiled(home, trace)
    return text, calls(decisions(playbook, {"remark": "by mail"}, FOUND, form(), form(), form("by mail")))


def test_a_page_that_shows_for_a_moment_is_not_required(tmp_path: Path) -> None:
    first, *others = acts()
    flash = page((20, 10, PREVIEW), (20, 60, "Please wait"))
    text, called = text_of(tmp_path, "flash", [replace(first, flash=flash), *others])
    assert PREVIEW not in text
    assert "by_model" not in text
    assert called[:3] == ["click", "click", "write"]


def test_a_page_that_stays_is_required(tmp_path: Path) -> None:
    text, called = text_of(tmp_path, "stays", acts())
    assert "after: ORDER RECORD" in text or "- ORDER RECORD" in text, text
    assert called[:3] == ["click", "click", "write"]


def test_a_step_that_differs_because_of_an_earlier_one_is_no_reason_to_refuse_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = compiling._check

    def differs_until_the_first_step_is_left(wanted: Any, playbook: Playbook, chosen: Any, *others: Any) -> Any:
        if not playbook.goals["look-up"].steps[0].by_model:
            raise DryRunMismatch("The second step differs.", chosen[0], 1)
        return right(wanted, playbook, chosen, *others)

    monkeypatch.setattr(compiling, "_check", differs_until_the_first_step_is_left)
    text, _ = text_of(tmp_path, "earlier", acts())
    assert text.count("by_model") == 2


@pytest.mark.parametrize(
    ("line", "is_required"),
    [("Dorn Pri...", False), ("Stored entry of", True), ("Orders of", True)],
)
def test_a_text_that_a_narrow_column_cut_off_is_not_required(tmp_path: Path, line: str, is_required: bool) -> None:
    asked = page((20, 10, "ORDER RECORD"), (20, 60, "Clerk"), (20, 300, "Print..."), fields=[(120, 60, "")])
    typed = page((20, 10, "ORDER RECORD"), (20, 60, "Clerk"), (20, 300, "Print..."), fields=[(120, 60, "maybach")])
    stored = page((20, 10, "ALL ORDERS"), (20, 60, f"{line} maybach"), (20, 90, "Berg an... bergmann"))
    steps = [
        Act(FOUND, click="Open"),
        Act(asked, click="Clerk"),
        Act(asked, write="maybach"),
        Act(typed, click="Print..."),
    ]
    trace = record(tmp_path, "narrow", "Enter the clerk maybach.", steps, stored, "done")
    _, _, text = compiled(tmp_path, trace, params=("clerk=maybach",))
    assert (line in text) is is_required, text
    assert "Berg an" not in text
    assert "Print" in text  # an ellipsis at the end does not matter


def test_one_text_with_a_value_of_the_item_is_required_after_a_step(tmp_path: Path) -> None:
    asked, typed = (
        page((20, 10, "ORDER RECORD"), (20, 60, "Clerk"), (20, 300, "Store"), fields=[(120, 60, held)])
        for held in ("", "maybach")
    )
    stored = page((20, 10, "ALL ORDERS"), (20, 60, "Orders of maybach"), (20, 90, "Address www.adler.example"))
    steps = [
        Act(FOUND, click="Open"),
        Act(asked, click="Clerk"),
        Act(asked, write="maybach"),
        Act(typed, click="Store"),
    ]
    trace = record(tmp_path, "one", "Enter the clerk maybach with www.adler.example.", steps, stored, "done")
    _, _, text = compiled(tmp_path, trace, params=("clerk=maybach", "address=www.adler.example"))
    assert "Orders of {clerk}" in text, text
    assert "Address {address}" not in text, "a longer address may be cut off there"


@pytest.mark.parametrize(
    ("title", "is_required"), [("Searc.", False), ("Search", True), ("XAb", False), ("Xab", True), ("Saved.", True)]
)
def test_a_word_that_ocr_cut_off_or_read_in_icons_is_not_required(
    tmp_path: Path, title: str, is_required: bool
) -> None:
    asked = page((20, 10, title), (20, 60, "Remark"), (20, 300, "Store"), fields=[(120, 60, "")])
    steps = [Act(FOUND, click="Open"), Act(asked, click="Remark"), Act(asked, write="pays late")]
    trace = record(tmp_path, "word", "Enter the remark.", steps, form("pays late"), "")
    _, _, text = compiled(tmp_path, trace)
    assert (title in text) is is_required, text
