"""An approval is for one action on one screen, is used once, and expires (promise I9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.approvals import Approvals


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    return Approvals(store_at(tmp_path))


def ask(approvals: Approvals, action: str = "action", frame: str = "frame", scope: str = "token T") -> int:
    return approvals.request("run", scope, action, frame, "To click ‘Submit’")


def test_an_approval_is_used_once(approvals: Approvals) -> None:
    number = ask(approvals)
    assert approvals.take("action", "frame", "token T") is None
    assert approvals.grant(number, "ada").words == "To click ‘Submit’"
    assert approvals.take("action", "frame", "token T") == "ada"
    assert approvals.take("action", "frame", "token T") is None


@pytest.mark.parametrize("other", [{"action": "b"}, {"frame": "b"}, {"scope": "token U"}, {"scope": "run T"}])
def test_an_approval_is_for_one_action_and_frame(approvals: Approvals, other: dict[str, str]) -> None:
    approvals.grant(ask(approvals), "ada")
    assert approvals.take(**{"action": "action", "frame": "frame", "scope": "token T", **other}) is None
    assert approvals.take("action", "frame", "token T") == "ada"


def test_an_invalid_name_of_the_approver_is_refused(approvals: Approvals) -> None:
    number = ask(approvals)
    with pytest.raises(InvalidUsage, match="not valid UTF-8"):
        approvals.grant(number, "ad\udcff")
    assert [one.id for one in approvals.waiting()] == [number]


def test_an_approval_expires(approvals: Approvals, monkeypatch: pytest.MonkeyPatch) -> None:
    approvals.grant(ask(approvals), "ada", ttl_s=5)
    approvals.grant(ask(approvals, "another"), "ada", ttl_s=60)
    now = Store.now_s
    monkeypatch.setattr(Store, "now_s", lambda store, db: now(store, db) + 5)
    assert approvals.take("action", "frame", "token T") is None
    assert approvals.take("another", "frame", "token T") == "ada"


def test_an_approval_from_before_a_reboot_has_expired(approvals: Approvals, tmp_path: Path) -> None:
    approvals.grant(ask(approvals), "ada")
    later = store_at(tmp_path)
    later.__dict__["era"] = "another boot"
    assert Approvals(later).take("action", "frame", "token T") is None


def test_a_request_is_recorded_once_and_answered_once(approvals: Approvals) -> None:
    number = ask(approvals)
    assert ask(approvals) == number
    assert [one.id for one in approvals.waiting()] == [number]
    approvals.grant(number, "ada")
    assert approvals.waiting() == []
    with pytest.raises(InvalidUsage, match="answered already by ada"):
        approvals.grant(number, "bob")
    assert approvals.take("action", "frame", "token T") == "ada"
    with pytest.raises(InvalidUsage, match="answered already by ada"):
        approvals.grant(number, "bob")
    assert ask(approvals) != number
    with pytest.raises(InvalidUsage, match="not known"):
        approvals.grant(999, "ada")
    for wrong in ({"by": " "}, {"ttl_s": 0}, {"ttl_s": float("nan")}, {"ttl_s": 1e9}):
        with pytest.raises(InvalidUsage):
            approvals.grant(ask(approvals), **{"by": "ada", **wrong})
