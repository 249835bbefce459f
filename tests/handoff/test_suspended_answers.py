"""Test answers to a suspended deployment run that has no process: the permission to answer, and retrying the item."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.orchestration import PrefectClient

from holo_tasks.cli.handoff import resume
from holo_tasks.cli.retry import retry
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.handoff.pause import Pausing
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoff, Handoffs
from holo_tasks.safety.records.items import Items
from tests.support.prefect_api import PrefectAPI

CHOICES = ("sales", "travel")


class Waiting:
    """The suspended flow run with its item and its hand-off."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.api = home, PrefectAPI(url)
        flow = self.api.post("/flows/", {"name": f"f-{uuid4()}"})["id"]
        self.deployment = self.api.post("/deployments/", {"name": "d", "flow_id": flow})["id"]
        self.flow_run = self.api.post(f"/deployments/{self.deployment}/create_flow_run", {})["id"]
        self.api.set_state(self.flow_run, "RUNNING", force=True)
        self.handoffs, self.items = Handoffs(store_at(home)), Items(store_at(home))
        more: dict[str, Any] = {"flow_run_id": self.flow_run, "suspended": ("a", "q")}
        self.asked = self.handoffs.open("Which account?", CHOICES, run_id="R", timeout_s=60, **more)
        how = {"kind": "flow", "deployment_id": self.deployment}
        self.items.file("A-2", "file", status="needs_person", reason="", trace="", flow_run_id=self.flow_run, how=how)
        assert asyncio.run(Pausing(self.asked.id, CHOICES, "", "Which?").suspend(self.flow_run, 60)) == ""

    def in_pages(self, choice: str) -> str:
        said = self.api.post(f"/flow_runs/{self.flow_run}/resume", {"run_input": {"choice": choice}})
        return str(said["status"])

    def runs(self) -> int:
        wanted = {"deployments": {"id": {"any_": [self.deployment]}}}
        return len(self.api.post("/flow_runs/filter", wanted))

    def now(self) -> Handoff:
        return self.handoffs.find(self.asked.id)


@pytest.fixture
def waiting(tmp_path: Path, prefect: str, monkeypatch: pytest.MonkeyPatch) -> Waiting:
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    return Waiting(tmp_path / "holo", prefect)


def first(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Run an action after the shell command has read the suspended run and before it answers."""
    answer = PrefectClient.resume_flow_run

    async def late(self: PrefectClient, *args: Any) -> Any:
        act()
        return await answer(self, *args)

    monkeypatch.setattr(PrefectClient, "resume_flow_run", late)


def test_a_command_that_is_slower_than_the_form_is_refused(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    first(monkeypatch, lambda: waiting.in_pages("travel"))
    with pytest.raises(InvalidUsage, match=r"was answered already: ‘travel’ by somebody in Prefect's pages"):
        resume(waiting.asked.id, choice="sales", by="ada")
    assert waiting.now().state == "open", "the valid answer is in Prefect's form, where the run reads it"


def test_a_form_that_is_slower_than_the_command_is_refused(waiting: Waiting) -> None:
    assert "begins again" in resume(waiting.asked.id, choice="sales", note=" a taxi ", by="ada")
    assert waiting.in_pages("travel") != "ACCEPT"
    now = waiting.now()
    assert (now.state, now.choice, now.note, now.by) == ("answered", "sales", "a taxi", "ada")


def test_an_unconfirmed_answer_counts(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    first(monkeypatch, lambda: waiting.in_pages("sales"))  # as when the client repeats the request
    assert "begins again" in resume(waiting.asked.id, choice="sales", by="ada")
    assert waiting.now().by == "ada"


def test_an_item_with_an_open_or_answered_question_is_not_retried(waiting: Waiting) -> None:
    def again() -> str:
        return retry(waiting.home, "A-2", done=None, not_done=True, again=lambda words: 0)[0]

    with pytest.raises(
        InvalidUsage, match=rf"waits for a person: answer with `holo-tasks handoff resume {waiting.asked.id}"
    ):
        again()
    assert waiting.in_pages("sales") == "ACCEPT"
    for state in ("", "PENDING", "RUNNING"):
        if state:
            waiting.api.set_state(waiting.flow_run, state)
        with pytest.raises(InvalidUsage, match="was answered by a person and goes on by itself"):
            again()
    assert waiting.runs() == 1
    waiting.api.set_state(waiting.flow_run, "CANCELLED", force=True)
    assert "works on" in again()
    assert waiting.runs() == 2
