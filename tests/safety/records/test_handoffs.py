"""Stored hand-offs: ids, answers, ends, and fields that are deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.handoffs import GONE_S, HANDOFFS, Handoff, Handoffs


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


def test_ids_are_easy_to_type_in_any_case(handoffs: Handoffs) -> None:
    id = opened(handoffs).id
    assert re.fullmatch("[2-9a-hjkmnp-z]{4}-[2-9a-hjkmnp-z]{4}", id)
    assert handoffs.answer(f" {id.upper()} ", "done", by="ada").choice == "done"


def test_an_answer_must_be_one_of_the_choices(handoffs: Handoffs) -> None:
    id = opened(handoffs).id
    with pytest.raises(InvalidUsage, match="'maybe' is not a choice of this hand-off; choose ‘done’ or ‘give up’"):
        handoffs.answer(id, "maybe", by="ada")
    assert handoffs.find(id).state == "open"


def test_closing_a_hand_off_deletes_the_live_link(handoffs: Handoffs) -> None:
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
def test_a_closed_hand_off_takes_no_answer(
    store: Store, handoffs: Handoffs, values: dict[str, object], reason: str
) -> None:
    id = opened(handoffs).id
    change(store, **values)
    assert handoffs.waiting() == []
    with pytest.raises(InvalidUsage, match=reason):
        handoffs.answer(id, "done", by="ada")


def test_a_hand_off_without_a_waiting_run_is_lost(store: Store, handoffs: Handoffs) -> None:
    id = opened(handoffs).id
    with store.transaction() as db:
        now_s = store.now_s(db)
    change(store, heard_s=now_s - GONE_S - 1)
    assert handoffs.find(id).lost
    handoffs.renew_wait(id)
    assert not handoffs.find(id).lost


def test_an_unknown_id_is_refused(handoffs: Handoffs) -> None:
    with pytest.raises(InvalidUsage, match="There is no hand-off 'nope'; `holo-tasks handoff list`"):
        handoffs.answer("nope", "done", by="ada")


def suspended(handoffs: Handoffs, asked: str, answer: str | None = "yes", flow_run_id: str = "F-1") -> Handoff:
    """Return a hand-off of a suspended flow run, answered unless the answer is ``None``."""
    place = ("attempt 1", asked)
    made = handoffs.open(asked, ("yes", "no"), run_id="R-1", timeout_s=60, flow_run_id=flow_run_id, suspended=place)
    return handoffs.answer(made.id, answer, by="ada", taken=True) if answer else made


def had(handoffs: Handoffs, attempt: str, asked: str, *, begun: bool = True) -> str | None:
    found = handoffs.answer_for("F-1", attempt, asked, begun=begun)
    return found and found.choice


def test_a_suspended_hand_off_survives_a_reboot_without_a_waiting_run(store: Store, handoffs: Handoffs) -> None:
    suspended(handoffs, "first", None)
    change(store, heard_s=-10 * GONE_S, era="before the machine was restarted")
    (found,) = handoffs.waiting()
    assert (found.suspended, found.lost, found.state) == (True, False, "open")
    change(store, expires_at="2026-01-01T00:00:00+00:00")
    assert handoffs.waiting() == []
    assert handoffs.find(found.id).state == "expired"


def test_an_answer_is_valid_for_the_attempts_that_answers_begin(
    handoffs: Handoffs,
) -> None:
    suspended(handoffs, "first", "yes")
    suspended(handoffs, "first", "no", flow_run_id="F-2")
    assert had(handoffs, "attempt 2", "first") == "yes"
    assert had(handoffs, "attempt 2", "second") is None
    suspended(handoffs, "second", "no")
    assert had(handoffs, "attempt 2", "second") == "no"
    assert had(handoffs, "attempt 3", "first") == "yes"
    assert had(handoffs, "attempt 3", "second") == "no"


def test_a_retry_asks_every_question_again(handoffs: Handoffs) -> None:
    suspended(handoffs, "first")
    suspended(handoffs, "never used")
    assert had(handoffs, "attempt 2", "first") == "yes"
    assert had(handoffs, "a retry", "first", begun=False) is None
    suspended(handoffs, "second")
    assert had(handoffs, "attempt 4", "second") == "yes"
    for over in ("first", "never used"):
        assert had(handoffs, "attempt 4", over) is None, "what is over stays over"


def test_the_last_answer_to_a_question_counts(store: Store, handoffs: Handoffs) -> None:
    for choice, at in (("no", "2026-01-01T00:00:01"), ("yes", "2026-01-01T00:00:02")):
        made = suspended(handoffs, "first", choice)
        with store.transaction() as db:
            db.execute(sa.update(HANDOFFS).where(HANDOFFS.c.id == made.id).values(closed_at=at))
    assert had(handoffs, "attempt 3", "first") == "yes"


def test_an_attempts_own_questions_are_not_unanswered(handoffs: Handoffs) -> None:
    id = suspended(handoffs, "first", None).id
    assert handoffs.unanswered("F-1", "attempt 1") == []
    assert [one.id for one in handoffs.unanswered("F-1", "attempt 2")] == [id]
    assert handoffs.unanswered("F-2", "attempt 2") == []


def test_an_answer_that_prefect_accepted_is_in_time_and_later_ones_are_refused(
    store: Store, handoffs: Handoffs
) -> None:
    id = suspended(handoffs, "first", None).id
    change(store, era="before the machine was restarted", expires_s=0.0)
    with pytest.raises(InvalidUsage, match=r"was not answered|is over"):
        handoffs.answer(id, "no", by="eve")
    assert handoffs.answer(id, "yes", by="ada", taken=True).state == "answered"
    with pytest.raises(InvalidUsage, match="was answered already"):
        handoffs.answer(id, "no", by="eve", taken=True)
