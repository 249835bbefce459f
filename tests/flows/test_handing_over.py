"""Failing receipts: three in a row end an audit, and a server failure hands none over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holo_tasks import HoloError, InvalidUsage, ModelFailed, NeedsPerson
from tests.faults.harness import Audit, Outcome, Runner
from tests.support.long import few

pytestmark = [pytest.mark.slow, pytest.mark.desktop]


@pytest.fixture
def runner(prefect_url: str) -> Iterator[Runner]:
    made = Runner({"PREFECT_API_URL": prefect_url})
    yield made
    made.close()


def run(runner: Runner, audit: Audit) -> int:
    runner.start(audit.job())
    return runner.wait()


def prepare(runner: Runner, audit: Audit) -> None:
    runner.start(audit.blocks())
    assert runner.wait() == 0


@pytest.mark.long
def test_three_consecutive_failures_end_the_audit(runner: Runner, tmp_path: Path) -> None:
    outcomes = ("wrong_amount", "match", "unknown_merchant", "no_transaction", "duplicate")
    with Audit(tmp_path / "audit", outcomes) as audit:
        prepare(runner, audit)
        audit.clerk.puzzled_by.update(str(item.reference) for item in audit.expected)
        assert run(runner, audit) == NeedsPerson.exit_code
        assert len(audit.judge(Outcome("none")).handed_over) == 3
        assert len(audit.table()) == 2


@pytest.mark.parametrize(("status", "ended"), few([(503, ModelFailed), (401, InvalidUsage)]))
@pytest.mark.long
def test_a_failing_server_hands_no_receipt_over(
    runner: Runner, tmp_path: Path, status: int, ended: type[HoloError]
) -> None:
    with Audit(tmp_path / "audit", ("wrong_amount", "match")) as audit:
        prepare(runner, audit)
        audit.clerk.failing_with = status
        assert run(runner, audit) == ended.exit_code
        assert audit.table() == []
