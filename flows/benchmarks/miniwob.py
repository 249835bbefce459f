"""MiniWoB++: small tasks on web pages, each with its own code that judges it, in a real Chromium."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shlex
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.devtools import Tab
from benchmarks.values import Item, Judgement
from holo_blocks import HoloDesktop
from holo_tasks import pursue
from holo_tasks.run.desktops.lazy_desktop import LazyDesktop
from holo_tasks.run.run import Run

ORACLE = Path(__file__).with_name("miniwob_oracle.js")
ENOUGH = 0.8
"""Part of the full reward that counts as done. Tasks that reward precision may miss a little."""
EPISODE_MS = 3_600_000
"""A task's own clock runs but never ends it: the benchmark measures the time, and does not limit it to a person's
speed.
"""
WIDTH, HEIGHT = 1024, 768
"""Chromium's windows are at least 500 of its own pixels wide, which at scale 2 are 1,000 screen pixels."""
FLAGS = (
    "no-sandbox test-type disable-gpu no-first-run disable-background-networking disable-component-update disable-sync "
    "no-default-browser-check disable-features=Translate disable-session-crashed-bubble "
    "kiosk disable-smooth-scrolling remote-debugging-port=0"
)
NOT_BY_AN_ORACLE = {
    "chase-circle": "follows a moving circle without a pause",
    "moving-items": "moves its targets without a pause",
    "hover-shape": "moves its target without a pause, and has no end",
    "stock-market": "needs a click within tenths of a second",
    "button-delay": "needs exact seconds between two clicks",
    "simon-says": "needs a memory of pictures that were shown for a moment",
    "hot-cold": "changes color while the pointer moves, between two pictures",
    "tic-tac-toe": "is partly luck",
    "draw-circle": "takes a curve, and the library drags in straight lines",
    "count-sides": "is a drawing without text or elements",
    "circle-center": "is a drawing without text or elements",
    "daily-calendar": "draws the dragged event away from the pointer, and misses the end of the drag",
    "drag-cube": "turns by the length of a drag",
}
"""Tasks that need sight or quick reactions, so an oracle cannot do them. A model runs them if they are named."""


def html_folder() -> Path | None:
    """Return the folder of the pages, or ``None`` if they are not installed."""
    found = importlib.util.find_spec("miniwob")
    return Path(found.origin).parent / "html" / "miniwob" if found and found.origin else None


BESIDE_A_CLOCK = (
    *("click-button", "click-checkboxes", "click-checkboxes-large", "click-option", "drag-box", "email-inbox-forward"),
    *("enter-text", "form-sequence-3", "login-user", "number-checkboxes", "search-engine", "use-autocomplete"),
)


class MiniWob:
    """The suite. With ``tree`` Chromium offers its accessibility tree, as for blind users.

    With ``clock`` the page shows the remaining time next to the task, in seconds that tick. Nothing else on the page
    moves by itself, so input that is held back because of the clock is held back needlessly.
    """

    def __init__(self, *, tree: bool = False, clock: bool = False) -> None:
        self.tree, self.clock = tree, clock
        self.name = "miniwob-clock" if clock else "miniwob"
        self.scales: tuple[float, ...] = (1.0,) if clock else (1.0, 1.25, 2.0)
        self.about = f"MiniWoB++ in Chromium, judged by its own code{', beside its clock' if clock else ''}"
        html = html_folder()
        known = sorted(page.stem for page in html.glob("*.html")) if html else []
        self.every = tuple(known)
        self.tasks = tuple(name for name in known if name not in NOT_BY_AN_ORACLE)
        if clock:
            self.tasks = tuple(name for name in self.tasks if name in BESIDE_A_CLOCK)
        self.quick = self.tasks

    def missing(self) -> str:
        if not self.every:
            return "its pages are missing: pip install --no-deps miniwob"
        return "" if shutil.which("chromium") else "Chromium is missing: apt-get install chromium"

    def program(self, item: Item) -> str:
        return ""

    def desktop(self, folder: Path, item: Item) -> HoloDesktop:
        flags = [f"--{flag}" for flag in FLAGS.split()]
        flags += [
            f"--force-device-scale-factor={item.scale:g}",
            *(["--force-renderer-accessibility"] if self.tree else []),
        ]
        # Each desktop's browser has its own profile, identified by the display's name.
        words = [
            "sh",
            "-c",
            'exec chromium --user-data-dir="$0/profile$DISPLAY" "$@"',
            str(folder),
            *flags,
            "about:blank",
        ]
        return HoloDesktop(app=shlex.join(words), width=WIDTH, height=HEIGHT, environment={"HOME": str(folder)})

    @asynccontextmanager
    async def trial(self, item: Item, key: str, run: Run, folder: Path) -> AsyncIterator[MiniWobTrial]:
        """Load the task's page with its seed, and begin."""
        assert isinstance(run.desktop, LazyDesktop)
        display = (await run.desktop.started()).display
        html = html_folder()
        assert html is not None
        tab = await asyncio.to_thread(Tab.of, folder / f"profile{display}")
        try:
            url = (html / f"{item.task}.html").as_uri()
            goal = await asyncio.to_thread(begun, tab, url, f"{item.task}-{item.seed}", clock=self.clock)
            yield MiniWobTrial(tab, key, f"Task {item.name}: {goal}")
        finally:
            await asyncio.to_thread(tab.close)


def begun(tab: Tab, url: str, seed: str, *, clock: bool) -> str:
    """Load a task's page, start it with a seed, and return the task's text."""
    tab.go("about:blank")
    tab.go(url)
    # After a task, its page would offer another one; this keeps it unchanged.
    hidden = "" if clock else "core.hideDisplay();"
    goal = tab.value(
        f"{hidden}core.EPISODE_MAX_TIME = {EPISODE_MS}; Math.seedrandom({json.dumps(seed)}); core.startEpisodeReal();"
        "core.startEpisode = () => {}; document.getElementById('query').innerText"
    )
    return " ".join(str(goal).split())


class MiniWobTrial:
    """One page."""

    def __init__(self, tab: Tab, key: str, goal: str) -> None:
        self._tab, self.key = tab, key
        self.goal = f"{goal} When it is done, answer with the word done."
        self._oracle = f"(() => {{ const act = ({ORACLE.read_text(encoding='utf-8')})();" + (
            "return { act, width: innerWidth, height: innerHeight }; })()"
        )

    async def run_agent(self) -> object:
        return await pursue(self.goal)

    def next_step(self, turns: Sequence[Any]) -> Mapping[str, Any] | None:
        reported = self._tab.value(self._oracle)
        return in_thousandths(reported["act"], reported["width"], reported["height"])

    async def judged(self, said: object) -> Judgement:
        done, reward, why = await asyncio.to_thread(
            self._tab.value, "[WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL, String(WOB_REWARD_REASON ?? '')]"
        )
        return Judgement(right=done and reward >= ENOUGH, reward=reward, why=why if done else "the task is not over")


def in_thousandths(act: Mapping[str, Any], width: float, height: float) -> dict[str, Any] | None:
    """Return an oracle's action on a page that fills the screen as a model's call, or None without one."""
    if act["tool"] == "none":
        return None
    sides = {"x": width, "x1": width, "x2": width, "y": height, "y1": height, "y2": height}
    call = {
        name: min(1000, max(0, round(1000 * value / sides[name]))) if name in sides else value
        for name, value in act.items()
        if name != "tool"
    }
    return {"tool_name": act["tool"], **call}
