"""A deployment's hand-off is answered on Prefect's own pages in a real browser."""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.nasty.programs import PROGRAM
from holo_tasks.desktop import tk_python
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from tests.support.agents import events
from tests.support.browser import Tab
from tests.support.prefect_api import login
from tests.support.scripted_model import ScriptedModel, step
from tests.support.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.desktop]

HERE = Path(__file__).parent
QUESTION = "The program wants to know the word that is hidden in a picture. Please type it and press Continue."
NAME = "hand-off"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel([step("ask_human", question=QUESTION), step("answer", content="filed")]) as model:
        yield model


@pytest.fixture
def pages(server: str, tmp_path: Path, model: ScriptedModel) -> Iterator[Served]:
    app = [tk_python(), str(PROGRAM), "puzzle", "--store", str(tmp_path / "store")]
    told = {"name": NAME, "base_url": model.base_url, "app": shlex.join(app), "folder": str(tmp_path / "evidence")}
    with Served(server, HERE / "served_goal.py", json.dumps(told), folder=tmp_path) as served:
        yield served


class Page(Tab):
    """A browser tab, operated through its elements."""

    async def press(self, what: str) -> None:
        """Click on the middle of an element, given as a JavaScript expression, once it exists."""
        await self.becomes(f"{what} != null", True)
        await self.value(f"{what}.scrollIntoView({{block: 'center'}})")
        box = f"{what}.getBoundingClientRect()"
        before, at = "", await self.value(f"JSON.stringify({box})")
        while before != at:  # on a busy machine, opening elements move for a while
            await asyncio.sleep(0.2)
            before, at = at, await self.value(f"JSON.stringify({box})")
        await self.click(
            *[await self.value(f"{box}.{a} + {box}.{b} / 2") for a, b in (("x", "width"), ("y", "height"))]
        )

    async def log_in(self, url: str) -> None:
        """Store the password where Prefect's pages store it after a login, without loading the slow pages."""
        await self.go(f"{url}/api/health")  # a page of the same origin that loads no scripts
        await self.becomes("location.href", f"{url}/api/health")
        word = base64.b64encode(":".join(login()).encode()).decode()
        await self.value(f"localStorage.setItem('prefect-password', {word!r})")

    async def choose(self, what: str, value: str) -> None:
        """Choose from a native list. A headless browser shows no list to click on."""
        await self.value(f"{what}.value = {value!r}")
        await self.value(f"{what}.dispatchEvent(new Event('change', {{bubbles: true}}))")


def by_text(tag: str, text: str) -> str:
    return f"[...document.querySelectorAll({tag!r})].find(one => one.innerText.trim() === {text!r})"


async def test_a_person_answers_in_the_form_of_prefects_pages(
    pages: Served, model: ScriptedModel, tmp_path: Path
) -> None:
    parameters = {"goal": "File the entry.", "hand_off_seconds": 300, "timeout_seconds": 200}
    flow_run = pages.start("Run a goal/goal", parameters | dict.fromkeys(("model", "desktop", "audit"), NAME))
    pages.until(lambda: pages.state(flow_run) == "PAUSED")
    (waiting,) = Handoffs(store_at(tmp_path / "holo")).waiting()
    assert waiting.live, "the hand-off must have a live view"
    dialog = "document.querySelector('[role=dialog]')"
    async with Page.opened(tmp_path / "profile") as page:
        await page.ask("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        await page.log_in(pages.url.removesuffix("/api"))
        await page.go(f"{pages.url.removesuffix('/api')}/runs/flow-run/{flow_run}")
        await page.press(by_text("button", "Resume"))
        submit = by_text("[role=dialog] button", "Submit")
        # The form is built from a later response; before that it cannot be submitted.
        await page.becomes(f"{dialog}?.querySelector('select') != null", True)
        await page.becomes(f"{dialog}.querySelector('.markdown-renderer img')?.naturalWidth", 640)
        await page.press(submit)
        await page.becomes(f"{dialog}.innerText.includes(\"'choice' is a required property\")", True)
        assert QUESTION in await page.value(f"{dialog}.innerText")
        assert await page.value(f"{dialog}.querySelector('.markdown-renderer a')?.href") == waiting.live
        assert pages.state(flow_run) == "PAUSED"

        await page.choose(f"{dialog}.querySelector('select')", "done")
        await page.press(f"{dialog}.querySelector('textarea')")
        await page.type("It was BUS.")
        (tmp_path / "form.png").write_bytes(await page.picture())
        await page.press(submit)
        for _ in range(30):  # the page takes a moment to notice the choice
            await asyncio.sleep(1)
            if not await page.value(f"{submit}?.click(); {submit} != null"):
                break
        pages.until(lambda: pages.state(flow_run) == "COMPLETED")

    told = str(model.requests[1]["messages"])
    assert "A person has had the screen, and answers: done. They say: It was BUS." in told
    (folder,) = (tmp_path / "evidence").iterdir()
    (asked,) = [event for event in events(str(folder)) if event.kind == "handoff"]
    (taken,) = [event for event in events(str(folder)) if event.kind == "taken_back"]
    assert (asked.question, taken.choice, taken.note) == (QUESTION, "done", "It was BUS.")
    assert asked.handoff == taken.handoff == waiting.id
    recorded = (folder / "events.jsonl").read_text() + (tmp_path / "served").read_text()
    assert waiting.live.rstrip("/") not in recorded, "the link must appear in no trace and no log"
