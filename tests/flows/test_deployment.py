"""The expense audit as a deployment of a real Prefect server: run again, it finishes only the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import Audit, Outcome, Runner
from tests.support.long import few

pytestmark = [pytest.mark.slow, pytest.mark.desktop]

ROOT = Path(__file__).parent.parent.parent
PREFECT = str(Path(sys.executable).with_name("prefect"))
OUTCOMES = ("wrong_amount", "match")
PATIENCE_S = 600.0
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class Served:
    """An audit that a process serves as a deployment, as `python flows/expense_audit.py` does."""

    def __init__(self, url: str, audit: Audit) -> None:
        self.audit = audit
        self._url = url
        self._env = {**os.environ, "PREFECT_API_URL": url, "HOLO_HOME": str(audit.home)}
        self._log = (audit.folder / "served").open("w")
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "flows" / "expense_audit.py")],
            env=self._env | {"PREFECT_RUNNER_POLL_FREQUENCY": "1"},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def close(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def api(self, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self._url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        for _ in range(20):
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as error:
                if error.code != 503:  # its database is busy
                    raise
            time.sleep(1)
        raise AssertionError("Prefect's database was busy for too long")

    def command(self, *words: str) -> str:
        """Run Prefect's own command line."""
        done = subprocess.run(
            [PREFECT, "--no-prompt", *words], env=self._env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def deployment(self) -> dict[str, Any]:
        found: dict[str, Any] = self.api("/deployments/name/Expense%20audit/expense-audit")
        return found

    def start(self, **parameters: Any) -> str:
        """Start a run, as the button in Prefect's pages does; return its id."""
        audit = self.audit
        given: dict[str, Any] = {"mailbox": str(audit.folder / "mailbox"), "workbook": str(audit.workbook)}
        given |= {"report": "", **dict.fromkeys(("model", "desktop", "audit"), audit.name), **parameters}
        path = f"/deployments/{self.deployment['id']}/create_flow_run"
        return str(self.api(path, {"parameters": given, "state": {"type": "SCHEDULED"}})["id"])

    def ended(self, flow_run_id: str, after: str = "") -> dict[str, Any]:
        """Wait for a run to end in another state than the one of this id; return the state."""

        def state() -> dict[str, Any] | None:
            found: dict[str, Any] = self.api(f"/flow_runs/{flow_run_id}")["state"]
            return found if found["type"] in ENDED and found["id"] != after else None

        return until(state)


def until(ready: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := ready()):
        assert time.monotonic() < deadline
        time.sleep(0.3)
    return found


@pytest.fixture
def served(server: str, tmp_path: Path) -> Iterator[Served]:
    with Audit(tmp_path / "audit", OUTCOMES) as audit:
        runner = Runner({"PREFECT_API_URL": server})
        runner.start(audit.blocks())
        assert runner.wait() == 0
        runner.close()
        process = Served(server, audit)
        try:
            until(lambda: "expense-audit" in (audit.folder / "served").read_text())
            yield process
        finally:
            process.close()


def asked(audit: Audit, since: int) -> set[str]:
    """Return the first lines of the goals that the model was asked to pursue."""
    return {str(request["messages"][1]["content"]).splitlines()[0] for request in audit.clerk.requests[since:]}


@pytest.mark.parametrize("again", few(["flow-run retry", "deployment run"]))
def test_a_failed_run_finishes_only_the_rest(served: Served, again: str) -> None:
    audit = served.audit
    first, second = audit.expected
    audit.clerk.puzzled_by.add(str(second.reference))
    flow_run = served.start()
    state = served.ended(flow_run)
    assert (state["type"], state["name"]) == ("FAILED", "Needs person"), (audit.folder / "served").read_text()
    assert second.receipt_id in state["message"]

    audit.clerk.puzzled_by.clear()
    before = len(audit.clerk.requests)
    if again == "flow-run retry":
        served.command("flow-run", "retry", flow_run)
    else:
        flow_run = served.start()
    state = served.ended(flow_run, after=state["id"])
    assert state["type"] == "COMPLETED", (audit.folder / "served").read_text()
    goals = asked(audit, before)
    assert goals, "the rest was done"
    assert not any(str(first.reference) in goal for goal in goals)
    assert audit.judge(Outcome("none", runs=[0]), served=True).problems == []

    before = len(audit.clerk.requests)
    assert served.ended(served.start())["type"] == "COMPLETED"
    assert len(audit.clerk.requests) == before, "all was done"
    assert audit.judge(Outcome("none", runs=[0]), served=True).problems == []


@pytest.mark.long
def test_a_limit_pauses_the_deployment_by_the_shipped_automation(served: Served) -> None:
    served.command("automation", "create", "--from-file", str(ROOT / "deployments" / "automations.yaml"))
    assert served.deployment["paused"] is False
    state = served.ended(served.start(max_cost_usd=0.006))
    assert (state["type"], state["name"]) == ("FAILED", "Limit: max_cost_usd")
    assert "has spent $0.0" in state["message"]
    until(lambda: served.deployment["paused"])
