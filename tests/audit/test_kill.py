"""Test kill -9 of a recording process: everything acknowledged is still there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.audit import Destination, open_trace
from holo_tasks.audit.resume import resume_spool
from tests.support import warm

CHILD = Path(__file__).with_name("recording_child.py")
ROOT = Path(__file__).parents[2]


def record_and_die(
    mother: subprocess.Popen[str], run_id: str, after_s: float, *, since: str = "pid"
) -> list[list[str]]:
    """Let a forked child record for a moment, kill it, and return the records that it acknowledged as durable.

    The moment starts when the child is forked, or with its first output.
    """
    assert mother.stdin
    assert mother.stdout
    mother.stdin.write(run_id + "\n")
    mother.stdin.flush()
    said: list[list[str]] = []
    killer = None
    child = 0
    for line in mother.stdout:
        words = line.split()
        if words[0] == "gone":
            break
        if words[0] == "pid":
            child = int(words[1])
        else:
            said.append(words)
        if killer is None and (since == "pid" or said):
            killer = threading.Timer(after_s, os.kill, (child, signal.SIGKILL))
            killer.start()
    assert killer
    killer.join()
    return said


def check(said: list[list[str]], trace: Any) -> None:
    found = trace.check()
    assert found.whole
    assert not found.closed
    events = {(str(r.event.subgoal), str(r.event.step)): r.event for r in trace.records()}
    for words in said:
        assert words[0] == "frame" or tuple(words[1:]) in events
    # Every picture that an event names exists.
    for digest in {words[1] for words in said if words[0] == "frame"} | {event.reason for event in events.values()}:
        trace.frame(digest)


@pytest.fixture
def mother(tmp_path, request):
    where = getattr(request, "param", None) or str(tmp_path / "audit")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if where.startswith("s3://"):
        environment |= request.getfixturevalue("s3").environment
    command = [sys.executable, str(CHILD), where, str(tmp_path / "home")]
    with warm.ScriptPopen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def test_twenty_kills_lose_nothing_that_was_acknowledged(mother, tmp_path):
    chance = random.Random(7)
    acknowledged = 0
    for number in range(20):
        said = record_and_die(mother, f"run-{number}", chance.uniform(0.02, 0.3))
        acknowledged += len(said)
        folder = tmp_path / "audit" / f"run-{number}"
        if said or (folder / "events.jsonl").exists():
            check(said, open_trace(folder))
    assert acknowledged > 300


@pytest.mark.parametrize("mother", ["s3://evidence/kills"], indirect=True)
def test_the_next_process_uploads_the_rest_of_a_killed_one(mother, tmp_path, s3, bucket):
    home = tmp_path / "home"
    chance = random.Random(8)
    said = [record_and_die(mother, f"run-{n}", chance.uniform(0.02, 0.1), since="first word") for n in range(3)]
    where = Destination.parse(
        "s3://evidence/other", endpoint_url=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key
    )
    deliveries = resume_spool(home, where.place, where.keys, timeout_s=30)
    assert deliveries
    assert all(delivery.complete for delivery in deliveries)
    assert not list((home / "spool").iterdir())
    for number, words in enumerate(said):
        uri = f"s3://evidence/kills/run-{number}"
        options = {"endpoint_url": s3.endpoint, "access_key": where.access_key, "secret_key": where.secret_key}
        if any(word[0] != "frame" for word in words):  # a picture without events is not a trace
            check(words, open_trace(uri, **options))
