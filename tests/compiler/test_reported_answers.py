"""An answer that only says that the work is done is given again if the screen shows that it is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.compiler.answers import RecordedAnswer, answer_of, is_message_of_item
from holo_tasks.scripts.values import read_values
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record, sight_of

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


def test_a_message_with_an_amount_of_the_item_shows_the_end(tmp_path: Path) -> None:
    """Without it only the button is gone, as after a failure. An amount of one digit has no parameter in texts."""
    stored = page((20, 10, "Record AB-1207"), (20, 60, "open"), (20, 200, "Taken out: 4 of AB-1207"))
    acts = [Act(PAGE, "done"), Act(CHOSEN, "Store", element={"role": "button", "name": "Store", "dialogs": "0"})]
    trace = record(tmp_path, "one", GOAL, acts, stored, "done")
    text = compiled(tmp_path, trace, params=("number=AB-1207",))[2]
    assert "message: {line:" in text
    assert "of ?{number}" in text


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("{number} was stored", True),
        ("{number} is renewed until {date}", True),
        ("{number} stored", True),
        ("{number} due", False),
        ("{number} Anna Weber", False),
        ("{number}", False),
        ("Record {number} was stored", True),
    ],
)
def test_a_message_may_begin_with_the_item(text: str, is_one: bool) -> None:
    assert is_message_of_item(text) is is_one


@pytest.mark.parametrize(
    ("recorded", "shown", "is_same"),
    [
        ("Removed 3 rows", "Removed 12 rows", True),
        ("Removed 3 rows", "Removed 0 rows", False),
        ("Removed 3 rows", "Removed 0.5 rows", True),
        ("Stored with 0 errors", "Stored with 0 errors", True),
        ("Stored with 0 errors", "Stored with 2 errors", False),
        ("Stored in 0 s", "Stored in 4 s", True),
        ("Stored in 3 s", "Stored in 0 s", True),
        ("Stored as S-10", "Stored as S-0", True),
        ("Rows removed: 3", "Rows removed: 0", False),
        ("Saved S-12 at 10:00", "Saved S-13 at 10:05", True),
        ("Saved S-12 at 10:05", "Saved S-13 at 11:00", True),
        ("Imported: 3, 0 errors", "Imported: 12, 0 errors", True),
        ("Imported: 3, 0 errors", "Imported: 12, 2 errors", False),
    ],
)
def test_nothing_and_something_are_different_messages(recorded: str, shown: str, is_same: bool) -> None:
    at_end = RecordedAnswer(recorded, sight_of(page((20, 200, recorded))), {})
    reads = answer_of([at_end], befores=[sight_of(page((20, 10, "Ready")))]).reads
    assert reads
    assert (read_values(reads, sight_of(page((20, 200, shown))), {}) is not None) is is_same


def test_a_message_about_the_item_is_required_on_a_new_screen(tmp_path: Path) -> None:
    """A failure may lead to the same screen, with another message."""
    listed = page((20, 10, "ALL RECORDS"), (20, 60, "AB-1207"), (20, 100, "CD-3391"), (20, 200, "AB-1207 was stored"))
    text = made(tmp_path, listed)
    assert "ALL RECORDS" in text
    assert "'{number} was stored'" in text
