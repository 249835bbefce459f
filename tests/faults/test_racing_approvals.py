"""An approval is used once even if two processes want it at the same moment (promise I9), on both databases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.approvals import Approvals
from tests.support import warm

ROUNDS = 40
RACE = """
import sys
from pathlib import Path
from holo_tasks.safety.records.approvals import Approvals
from holo_tasks.safety.database.store import store_at
approvals = Approvals(store_at(Path("unused")))
approvals.waiting()
print("ready", flush=True)
sys.stdin.readline()
print(sum(approvals.take(f"action {n}", "frame", "token T") is not None for n in range(int(sys.argv[1]))))
"""
NAIVE = """
def take(self, action, frame, scope):
    with self._store.transaction() as db:
        found = db.execute(sa.select(APPROVALS).where(*_matches(scope, action, frame), _ROW.granted_by != "")).first()
    if found is None or found.taken: return None
    time.sleep(0.01)
    with self._store.transaction() as db:
        db.execute(sa.update(APPROVALS).where(_ROW.id == found.id).values(taken=True))
    return found.granted_by
import time
import holo_tasks.safety.records.approvals as module
from holo_tasks.safety.records.approvals import *
from holo_tasks.safety.records.approvals import sa, _matches, _ROW
module.Approvals.take = take
"""


@pytest.fixture
def approvals(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Approvals:
    monkeypatch.setenv(DATABASE_VARIABLE, store_url)
    return Approvals(store_at(Path("unused")))


def race(approvals: Approvals, code: str) -> int:
    """Let two processes race for each of some approvals; return the total number of approvals that they got."""
    for n in range(ROUNDS):
        approvals.grant(approvals.request("run", "token T", f"action {n}", "frame", "To click"), "ada")
    command = [sys.executable, "-c", code, str(ROUNDS)]
    racers = [warm.ScriptPopen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return sum(int(racer.communicate(timeout=120)[0]) for racer in racers)


def test_of_two_processes_only_one_gets_the_approval(approvals: Approvals) -> None:
    assert race(approvals, RACE) == ROUNDS


def test_a_check_before_an_update_gives_an_approval_twice_and_is_caught(approvals: Approvals) -> None:
    assert race(approvals, NAIVE + RACE) > ROUNDS
