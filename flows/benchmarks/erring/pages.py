"""Tasks on MiniWoB++ pages in Chromium: a page judges itself, and its oracle reads the document."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.devtools import Tab
from benchmarks.erring.declared import page_declared, page_plain
from benchmarks.erring.errors import Call, Control, Kind, Meant, Mind
from benchmarks.erring.place import Started, Verdict, answer, fresh
from benchmarks.miniwob import ENOUGH, FLAGS, HEIGHT, ORACLE, WIDTH, begun, html_folder
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop import VirtualDesktop

CONTROLS = """[...document.querySelectorAll(
  "button, input, select, textarea, a, label, [onclick], .alink, .email-thread, .star, .trash, svg text")]
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([, box]) => box.width > 2 && box.height > 2 && box.top >= 0 && box.left >= 0)
  .map(([each, box]) => [
    `${each.tagName} ${each.id} ${(each.innerText || each.value || "").slice(0, 30)}`,
    box.left, box.top, box.width, box.height])"""
BUTTONS = {"click-checkboxes": "Submit", "enter-text": "Submit", "form-sequence-2": "Submit", "login-user": "Login"}
"""Label of the button that ends a page, where it is the same for each seed."""
WORDS = 'getElementById("query").innerText'
"""Expression by which the oracle reads the task."""


class Page:
    """One page with one seed."""

    def __init__(self, task: str, seed: int, folder: Path) -> None:
        self.task, self.seed, self.profile = task, seed, fresh(folder) / "profile"
        flags = [f"--{flag}" for flag in FLAGS.split()]
        words = ["chromium", f"--user-data-dir={self.profile}", *flags, "about:blank"]
        self.started = Started(words, {"HOME": str(folder)}, size=Size(WIDTH, HEIGHT))
        self.goal = self.goal_with_password = ""
        self._tab: Tab | None = None
        self._key = f"{task}/{seed}/{folder.name}"

    @property
    def tab(self) -> Tab:
        assert self._tab is not None, "the page is not there yet"
        return self._tab

    async def ready(self, desktop: VirtualDesktop) -> None:
        """Load the page, and begin."""
        self._tab = await asyncio.to_thread(Tab.of, self.profile)
        folder = html_folder()
        assert folder is not None, "miniwob is not installed"
        url = (folder / f"{self.task}.html").as_uri()
        goal = await asyncio.to_thread(begun, self.tab, url, f"{self.task}-{self.seed}", clock=False)
        self.goal = self.goal_with_password = f"{goal} When it is done, answer with the word done."

    def mind(self) -> Mind:
        return Mind.of({})

    def controls(self) -> Sequence[Control]:
        found = self.tab.value(CONTROLS)
        return [Control(str(name), Box(*map(round, box))) for name, *box in found]

    def meant(self, mind: Mind) -> Meant | None:
        # The oracle reads the task from the page: replace the true value there by the one that the model believes.
        believed = "".join(
            f".replaceAll({quoted(true)}, {quoted(value)})" for true, value in mind.values.items() if true != value
        )
        oracle = ORACLE.read_text(encoding="utf-8").replace(WORDS, f"{WORDS}{believed}", 1)
        act: dict[str, Any] = self.tab.value(f"({oracle})()")
        tool = act.pop("tool")
        if tool == "none":
            return None
        call: Call = {
            "tool_name": tool,
            **{name: round(value) if name in SIDES else value for name, value in act.items()},
        }
        if tool != "write":
            return Meant(call, begun=mind.last is not None)
        text = str(call["content"])
        mind.values.setdefault(text, text)
        call["clears"] = self.tab.value("(document.activeElement.value || '').length")
        return Meant(call, field=text, value=True)

    def answers(self, number: int) -> Mapping[Kind, Call]:
        return {"early": answer("done"), "invented": answer("done")}

    async def run_agent(self, arm: str) -> object:
        if arm == "declared":
            return await page_declared(self.goal, self._key, BUTTONS.get(self.task, ""))
        return await page_plain(self.goal, self._key)

    async def judged(self) -> Verdict:
        done, reward = await asyncio.to_thread(self.tab.value, "[WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]")
        await asyncio.to_thread(self.tab.close)
        if done and reward >= ENOUGH:
            return Verdict(right=True)
        return Verdict(right=False, wrong=(f"the page was ended wrongly: {reward:g}",) if done else ())


SIDES = ("x", "y", "x1", "y1", "x2", "y2")


def quoted(text: str) -> str:
    """Return a text in quotes, as a page's words have it, as a literal of JavaScript."""
    return json.dumps(f'"{text}"')


def page(task: str) -> Callable[[int, Path], Page]:
    """Return a function that makes the task on one page."""
    return lambda seed, folder: Page(task, seed, folder)
