"""Test kill -9 at any moment: every picture sent to the model is in the trace, and the trace never looks tampered
with."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from holo_tasks.audit import open_trace
from holo_tasks.audit.verifier.verify import pictures
from holo_tasks.cli.verify import public_pem, verify_trace
from tests.audit.test_kill import record_and_die
from tests.support import warm
from tests.support.long import few

CHILD = Path(__file__).with_name("wire_child.py")
ROOT = Path(__file__).parents[2]


class Wire:
    """A model server that notes which pictures started to arrive, completely or not."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                wire.seen.add(self.path.removeprefix("/"))
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):  # the client was killed
                    super().handle()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def mother(tmp_path: Path, wire: Wire, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    how = ["careless"] if getattr(request, "param", False) else []
    command = [sys.executable, str(CHILD), str(tmp_path / "runs"), str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with warm.ScriptPopen(
        [*command, str(wire.server.server_port), *how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        yield process
        assert process.stdin
        process.stdin.close()


def named(folder: Path) -> set[str]:
    if not (folder / "events.jsonl").exists():
        return set()
    trace = open_trace(folder)
    found = {digest for record in trace.records() for digest in pictures(record.event)}
    for digest in found:
        trace.frame(digest)
    return found


@pytest.mark.parametrize("kills", few([10, 200]))
def test_a_kill_loses_no_picture_that_was_sent(
    mother: subprocess.Popen[str], wire: Wire, tmp_path: Path, kills: int
) -> None:
    chance = random.Random(5)
    kept: set[str] = set()
    verdicts = []
    for number in range(kills):
        record_and_die(mother, f"run-{number}", chance.uniform(0.01, 0.4))
        folder = tmp_path / "runs" / f"run-{number}"
        kept |= named(folder)
        assert set(wire.seen) <= kept
        if (folder / "events.jsonl").exists():
            key = tmp_path / "public.pem"
            key.write_text(public_pem(tmp_path / "home"))
            found = verify_trace(str(folder), key, None, tmp_path / "home")
            assert found.verdict == "INCOMPLETE", found.reason
            verdicts.append(found.records)
    assert len(wire.seen) > kills
    assert set(wire.seen) <= kept  # includes pictures that arrived after the sender's death
    print(f"{kills} kills: {len(wire.seen)} pictures on the wire, {len(verdicts)} traces with {sum(verdicts)} records")


@pytest.mark.parametrize("mother", [True], indirect=True)
def test_an_agent_that_sends_before_it_records_is_detected(
    mother: subprocess.Popen[str], wire: Wire, tmp_path: Path
) -> None:
    chance = random.Random(6)
    lost = False
    for number in range(20):
        wire.seen.clear()
        record_and_die(mother, f"run-{number}", chance.uniform(0.1, 0.4))
        lost = lost or not set(wire.seen) <= named(tmp_path / "runs" / f"run-{number}")
        if lost:
            break
    assert lost
