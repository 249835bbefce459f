"""Hand-offs as they are kept: names, answers, ends, and what is not kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.handoffs import GONE_S, HANDOFFS, Handoff, Handoffs
from holo_tasks.safety.store import Store, store_at


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_at(tmp_path)


@pytest.fixture
def handoffs(store: Store) -> Handoffs:
    return Handoffs(store)


def opened(handoffs: Handoffs, timeout_s: float = 60.0) -> Handoff:
    return handoffs.open("Solve it", ("done", "give up"), run_id="R-1", timeout_s=timeout_s, live="http://127.0.0.1/x")


def change(store: Store, **values: object) -> None:
    with store.transaction() as db:
        db.execute(sa.update(HANDOFFS).values(**values))


def test_a_name_is_easy_to_type_and_capitals_do_not_matter(handoffs: Handoffs) -> None:
    id = opened(handoffs).id
    assert re.fullmatch("[2-9a-hjkmnp-z]{4}-[2-9a-hjkmnp-z]{4}", id)
    assert handoffs.answer(f" {id.upper()} ", "done", by="ada").choice == "done"


def test_an_answer_is_one_of_the_choices(handoffs: Handoffs) -> None:
    id = opened(handoffs).id
    with pytest.raises(InvalidUsage, match="'maybe' is no choice here; choose ‘done’ or ‘give up’"):
        handoffs.answer(id, "maybe", by="ada")
    assert handoffs.find(id).state == "open"


def test_the_link_to_the_desktop_is_forgotten_with_the_hand_off(handoffs: Handoffs) -> None:
    first, second = opened(handoffs).id, opened(handoffs).id
    assert [one.live for one in handoffs.waiting()] == ["http://127.0.0.1/x"] * 2
    handoffs.answer(first, "done", by="ada")
    handoffs.close(second, "killed")
    assert [handoffs.find(id).live for id in (first, second)] == ["", ""]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"expires_s": 0.0}, "was not answered in time"),
        ({"era": "before the machine was restarted"}, "was not answered in time"),
        ({"state": "killed"}, "is over: its run was killed"),
        ({"state": "cancelled"}, "is over: its run was cancelled"),
    ],
)
def test_what_is_over_takes_no_answer(store: Store, handoffs: Handoffs, values: dict[str, object], reason: str) -> None:
    id = opened(handoffs).id
    change(store, **values)
    assert handoffs.waiting() == []
    with pytest.raises(InvalidUsage, match=reason):
        handoffs.answer(id, "done", by="ada")


def test_a_hand_off_that_nobody_waits_for_any_more_shows(store: Store, handoffs: Handoffs) -> None:
    id = opened(handoffs).id
    with store.transaction() as db:
        now_s = store.now_s(db)
    change(store, heard_s=now_s - GONE_S - 1)
    assert handoffs.find(id).lost
    handoffs.hear(id)
    assert not handoffs.find(id).lost


def test_an_unknown_name_is_told(handoffs: Handoffs) -> None:
    with pytest.raises(InvalidUsage, match="There is no hand-off 'nope'; `holo-tasks handoff list`"):
        handoffs.answer("nope", "done", by="ada")
