"""The expense audit as a deployment of a real Prefect server: run again, it finishes only the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import Audit, Outcome, Runner
from tests.support import warm
from tests.support.long import few
from tests.support.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.desktop]

ROOT = Path(__file__).parent.parent.parent
DEPLOYMENT = "Expense audit/expense-audit"
OUTCOMES = ("wrong_amount", "match")
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class ServedAudit(Served):
    """An audit that a process serves as a deployment, as `python flows/expense_audit.py` does."""

    patience_s = 600.0

    def __init__(self, url: str, audit: Audit) -> None:
        super().__init__(
            url, ROOT / "flows" / "expense_audit.py", folder=audit.folder, home=audit.home, reports=audit.folder
        )
        self.audit = audit

    def command(self, *words: str) -> None:
        """Run Prefect's own command line."""
        warm.run_prefect(words, self.env)

    def run(self, **parameters: Any) -> str:
        """Start an audit and return its id."""
        audit = self.audit
        blocks = dict.fromkeys(("mailbox", "model", "desktop", "audit"), audit.name)
        return self.start(DEPLOYMENT, {"workbook": audit.workbook.name, "report": "", **blocks, **parameters})

    def ended(self, flow_run_id: str, after: str = "") -> dict[str, Any]:
        """Wait for a run to end in another state than the one of this id; return the state."""

        def state() -> dict[str, Any] | None:
            found: dict[str, Any] = self.flow_run(flow_run_id)["state"]
            return found if found["type"] in ENDED and found["id"] != after else None

        told: dict[str, Any] = self.until(state)
        return told


@pytest.fixture
def served(server: str, tmp_path: Path) -> Iterator[ServedAudit]:
    with Audit(tmp_path / "audit", OUTCOMES) as audit:
        runner = Runner({"PREFECT_API_URL": server})
        runner.start(audit.blocks())
        assert runner.wait() == 0
        runner.close()
        with ServedAudit(server, audit) as served:
            yield served


def asked(audit: Audit, since: int) -> set[str]:
    """Return the tasks that the model was given."""
    return {str(request["messages"][1]["content"]) for request in audit.clerk.requests[since:]}


@pytest.mark.parametrize("again", few(["flow-run retry", "deployment run"]))
def test_a_failed_run_finishes_only_the_rest(served: ServedAudit, again: str) -> None:
    audit = served.audit
    first, second = audit.expected
    audit.clerk.puzzled_by.add(str(second.reference))
    flow_run = served.run()
    state = served.ended(flow_run)
    assert (state["type"], state["name"]) == ("FAILED", "Needs person"), served.log
    assert second.receipt_id in state["message"]

    audit.clerk.puzzled_by.clear()
    before = len(audit.clerk.requests)
    if again == "flow-run retry":
        served.command("flow-run", "retry", flow_run)
    else:
        flow_run = served.run()
    state = served.ended(flow_run, after=state["id"])
    assert state["type"] == "COMPLETED", served.log
    goals = asked(audit, before)
    assert goals, "the rest was done"
    assert not any(str(first.reference) in goal for goal in goals)
    assert audit.judge(Outcome("none", runs=[0]), served=True).problems == []

    before = len(audit.clerk.requests)
    assert served.ended(served.run())["type"] == "COMPLETED"
    assert len(audit.clerk.requests) == before, "all was done"
    assert audit.judge(Outcome("none", runs=[0]), served=True).problems == []


def test_a_limit_pauses_the_deployment_by_the_shipped_automation(served: ServedAudit) -> None:
    served.command("automation", "create", "--from-file", str(ROOT / "deployments" / "automations.yaml"))
    assert served.deployment(DEPLOYMENT)["paused"] is False
    state = served.ended(served.run(max_cost_usd=0.006))
    assert (state["type"], state["name"]) == ("FAILED", "Limit: max_cost_usd")
    assert "has spent $0.0" in state["message"]
    served.until(lambda: served.deployment(DEPLOYMENT)["paused"])
