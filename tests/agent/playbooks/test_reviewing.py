"""A person decides in Prefect's pages about proposals for a playbook; decisions in a shell count as well."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holo_tasks.agent.playbooks import reviewing
from holo_tasks.cli.playbook import settle
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.proposal import Proposal
from holo_tasks.scripts.playbook import load_playbook
from review_playbook import review_playbook
from tests.support.prefect_api import PrefectAPI

TEXT = """\
# A person wrote this.
name: orders
goals:
  find:
    rules:
      - id: search
        screen: ORDER SEARCH
        do:
          - click: Start search
            thought: Click Start search.
          - click: Print
            thought: Click Print.
          - click: Close
            thought: Click Close.
"""
OLD = {0: "Start search", 1: "Print", 2: "Close"}
NEW = {0: "Go and look", 1: "Delete", 2: "Leave"}
IDS = {place: f"{place}" * 8 for place in OLD}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A playbook with a proposal for each of its steps."""
    monkeypatch.setenv("HOLO_REPORTS", str(tmp_path))
    monkeypatch.setattr(reviewing, "POLL_S", 0.1)
    path = tmp_path / "orders.yaml"
    path.write_text(TEXT, encoding="utf-8")
    drawn = io.BytesIO()
    Image.new("RGB", (320, 200), "#c3c3c3").save(drawn, format="JPEG")
    for place, old in OLD.items():
        proposal = Proposal(
            id=IDS[place],
            goal="find",
            rule="search",
            place=place,
            step=f"Click {old}.",
            why="‘Start search’ is *not* on the screen",
            old=old,
            new=NEW[place],
            verified=place == 0,
            run="runs/1",
            point=(500, 500),
        )
        HealingFolder(path).store(proposal, {"new": drawn.getvalue()})
    return path


class Pages:
    """A person in front of Prefect's pages."""

    def __init__(self, url: str) -> None:
        self.prefect = PrefectAPI(url)

    async def paused(self, place: str) -> dict[str, Any]:
        """Wait until the flow run asks about one of the proposals; return the run."""
        runs = {"sort": "START_TIME_DESC", "limit": 5}
        for _ in range(1200):
            for run in self.prefect.post("/flow_runs/filter", runs):
                asks = run["state"]["type"] == "PAUSED" and place in (run["state"]["message"] or "")
                if asks and self.prefect.has_form(run):
                    return dict(run)
            await asyncio.sleep(0.05)
        raise AssertionError(f"nobody was asked about {place}")

    def form(self, run: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the form's schema, and the text above it."""
        keys = run["state"]["state_details"]["run_input_keyset"]
        schema, text = (
            self.prefect.get(f"/flow_runs/{run['id']}/input/{keys[name]}") for name in ("schema", "description")
        )
        return schema, text

    def answer(self, run: dict[str, Any], **said: str) -> str:
        status: str = self.prefect.post(f"/flow_runs/{run['id']}/resume", {"run_input": said})["status"]
        return status


async def test_applied_proposals_change_the_file_and_rejected_ones_do_not(prefect: str, file: Path) -> None:
    pages, review = Pages(prefect), review_playbook
    running = asyncio.create_task(review(file.name))
    first = await pages.paused("1 of 3")
    schema, text = pages.form(first)
    assert schema["properties"]["choice"]["enum"] == ["apply", "reject", "leave it open"]
    assert "Why" in schema["properties"]["note"]["description"]
    assert "+ Start search, or: Go and look" in text
    assert text.count("data:image/jpeg;base64,") == 1
    assert "no picture" in text
    assert r"\*not\* on the screen" in text
    assert pages.answer(first, choice="perhaps") == "REJECT"
    assert pages.answer(first, choice="apply", note="It was renamed.") == "ACCEPT"
    second = await pages.paused("2 of 3")
    assert pages.answer(second, choice="reject", note="That is another thing.") == "ACCEPT"
    await pages.paused("3 of 3")
    settle(file, "reject", [IDS[2]], "Not now.", as_json=False)
    told = await asyncio.wait_for(running, 120)
    assert [one["became"] for one in told] == ["applied", "rejected", "decided elsewhere"]
    kept = {one.id: (one.status, one.reason) for one in HealingFolder(file).proposals}
    assert kept[IDS[0]] == ("applied", "It was renamed.")
    assert kept[IDS[1]] == ("rejected", "That is another thing.")
    assert kept[IDS[2]] == ("rejected", "Not now.")
    ways = [action.targets[0].ways for action in load_playbook(file).rules_of("find")[0].do]
    assert [[way.text for way in one] for one in ways] == [["Start search", "Go and look"], ["Print"], ["Close"]]
    wanted = {"artifacts": {"key": {"any_": [f"proposal-{IDS[0]}"]}}}
    page = pages.prefect.post("/artifacts/filter", wanted)[0]
    assert re.search(r"```diff\n.*\n- Start search\n\+ Start search, or: Go and look\n```", page["data"])


async def test_an_undecided_proposal_stays_open(prefect: str, file: Path) -> None:
    settle(file, "reject", [IDS[1], IDS[2]], as_json=False)
    (told,) = await review_playbook(file.name, wait_hours=0.5 / 3600)
    assert (told["became"], HealingFolder(file).proposals[0].status) == ("left open", "open")
    assert file.read_text() == TEXT


async def test_a_playbook_that_was_edited_meanwhile_is_unchanged(prefect: str, file: Path) -> None:
    settle(file, "reject", [IDS[1], IDS[2]], as_json=False)
    pages = Pages(prefect)
    running = asyncio.create_task(review_playbook(file.name))
    asked = await pages.paused("1 of 1")
    file.write_text(TEXT.replace("Start search", "Find it"), encoding="utf-8")
    assert pages.answer(asked, choice="apply") == "ACCEPT"
    (told,) = await asyncio.wait_for(running, 120)
    assert told["became"] == "cannot be applied"
    assert HealingFolder(file).proposals[0].status == "open"


async def test_a_review_needs_a_flow_run(file: Path) -> None:
    with pytest.raises(InvalidUsage, match="pauses a flow run"):
        await reviewing.review_proposals(file)
