"""An answer that only says that the work is done is given again if the screen shows that it is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record

GOAL = "Set the record AB-1207 to done, and store it."
PAGE = page((20, 10, "Record AB-1207"), (20, 60, "open"), (120, 60, "done"), (20, 100, "Store"))
STORED = page((20, 10, "Record AB-1207"), (20, 60, "open"), (20, 200, "Record AB-1207 stored"))
CHOSEN = page(
    (20, 10, "Record AB-1207"), (20, 60, "open"), (120, 60, "done"), (20, 100, "Store"), (300, 60, "was open")
)


def made(folder: Path, last: object, answer: str = "done", goal: str = GOAL) -> str:
    acts = [Act(PAGE, "done"), Act(CHOSEN, "Store")]
    trace = record(folder, "one", goal, acts, last, answer)  # type: ignore[arg-type]
    return compiled(folder, trace, params=("number=AB-1207",))[2]


def test_the_report_is_given_if_a_message_shows_the_end(tmp_path: Path) -> None:
    text = made(tmp_path, STORED)
    assert "answer: done" in text
    assert "Record {number} stored" in text
    assert "ask_model" not in text


def test_a_control_may_have_the_word_of_the_report(tmp_path: Path) -> None:
    text = made(tmp_path, STORED)
    assert "{text: done, picture: " in text
    assert "by_model" not in text


@pytest.mark.parametrize(("dialogs", "is_given"), [({"dialogs": "0"}, True), ({}, False)])
def test_known_dialogs_suffice_if_no_message_stays(tmp_path: Path, dialogs: dict[str, str], is_given: bool) -> None:
    """Without the elements of the program, an error may look like the end."""
    acts = [Act(CHOSEN, "Store", element={"role": "button", "name": "Store", "alike": "1", **dialogs})]
    trace = record(tmp_path, "one", GOAL, acts, PAGE, "done")
    text = compiled(tmp_path, trace, params=("number=AB-1207",))[2]
    assert ("answer: done" in text) is is_given
    assert ("ask_model" in text) is not is_given


@pytest.mark.parametrize(
    ("last", "answer", "goal"),
    [
        pytest.param(PAGE, "done", GOAL, id="nothing shows the end"),
        pytest.param(STORED, "open", GOAL, id="a value"),
        pytest.param(STORED, "done", "Store the record AB-1207 if it is open.", id="a choice"),
    ],
)
def test_the_model_is_asked_for_other_answers(tmp_path: Path, last: object, answer: str, goal: str) -> None:
    assert "ask_model" in made(tmp_path, last, answer, goal)
