"""An agent with an inventory: sent first, as data, the same in every conversation, and recorded."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks import Discover, pursue
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.frame import Frame, Mask
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.window_titles import may_leave
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.desktop.x11.windows import Window
from holo_tasks.inventory import menus
from holo_tasks.run.desktops import discovery
from holo_tasks.safety.masking.settings import Redaction
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")
TWO = """
import tkinter
root = tkinter.Tk()
root.title("Payroll")
root.geometry("300x200+20+50")
other = tkinter.Toplevel(root)
other.title("Invoice 4711")
other.geometry("300x200+450+50")
root.mainloop()
"""
APPS = Path(__file__).parent.parent / "apps"
DONE = step("answer", content="done")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "share"
    (folder / "applications").mkdir(parents=True)
    (folder / "applications" / "ledger.desktop").write_text(
        "[Desktop Entry]\nType=Application\nName=Meridian <Ledger> s3cret-value\nExec=sh\nCategories=Office;\n"
    )
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "june.pdf").touch()
    (folder / "recently-used.xbel").write_text(
        f'<bookmark href="file://{tmp_path}/work/june.pdf" modified="2026-06-01T00:00:00Z"></bookmark>'
    )
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_DIRS", str(folder))
    return tmp_path


def opening(body: dict[str, Any]) -> str:
    return str(body["messages"][1]["content"])


async def test_the_inventory_comes_first_as_data_and_never_changes(programs: Path) -> None:
    said = [step("click", element="OK", x=500, y=500), DONE, DONE]
    with ScriptedModel(said) as model:
        discover = Discover(recent=(str(programs / "work"),))
        secrets = {"pin": Secret("pin", "s3cret-value")}
        async with agent(model, PaintedDesktop(), programs, discover=discover, secrets=secrets) as run:
            await pursue("Press OK.", data={"item": "I-1"})
            await pursue("Look at it.")
    first, second, third = map(opening, model.requests)
    told = first.partition("Press OK.")[0]
    assert told.startswith("What there is on this machine")
    assert r"Meridian \u003cLedger>" in told
    assert "work/june.pdf" in told
    assert "s3cret-value" not in told
    assert first == second
    assert third.startswith(told)
    assert "I-1" in first.partition("Press OK.")[2]
    (event,) = (event for event in events(run.trace) if event.kind == "inventory")
    assert event.told.strip() == told.strip()
    assert event.took_us < 2_500_000


async def test_the_inventory_is_sent_on_request_and_recent_files_only_if_allowed(programs: Path) -> None:
    with ScriptedModel([DONE, DONE]) as model:
        async with agent(model, PaintedDesktop(), programs):
            await pursue("Look.")
        async with agent(model, PaintedDesktop(), programs, discover=True):
            await pursue("Look.")
    assert opening(model.requests[0]).startswith("Look.")
    assert "june.pdf" not in opening(model.requests[1])


@pytest.mark.desktop
async def test_unopened_menus_are_sent_unless_redacted_and_cached_for_the_next_run(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "MOST_S", 60.0)  # the first OCR of a screen takes a while
    seen = []
    async with VirtualDesktop(size=Size(800, 500), app=["/usr/bin/python3", str(APPS / "form_gtk3.py")]) as desktop:
        before = await desktop.look()
        for redaction in (None, Redaction(texts=("email",))):
            with ScriptedModel([DONE]) as model:
                async with agent(model, desktop, programs, discover=True, redaction=redaction):
                    await pursue("Look.")
            seen.append(opening(model.requests[0]))
        assert (await desktop.look()).digest == before.digest
    assert "File > New supplier" in seen[0].replace(r"\u003e", ">")
    assert "New supplier" not in seen[1]
    assert "Supplier form" in seen[1]
    assert "tulip-7-secret" not in "".join(seen)
    assert len(list((programs / "holo" / "inventory").glob("*.json"))) == 1


@pytest.mark.desktop
async def test_window_titles_are_sent_unless_masked(programs: Path) -> None:
    script = programs / "two.py"
    script.write_text(TWO)
    async with VirtualDesktop(size=Size(800, 500), app=[tk_python(), str(script)]) as desktop:
        while len(await desktop.windows()) < 2:
            await desktop.look()
        seen = {}
        for name, redaction in (("open", None), ("masked", Redaction(regions=[[0, 0, 400, 500]], texts=()))):
            with ScriptedModel([DONE]) as model:
                async with agent(model, desktop, programs / name, discover=True, redaction=redaction):
                    await pursue("Look.")
            seen[name] = opening(model.requests[0])
    assert "Invoice 4711" in seen["open"]
    assert "Payroll" in seen["open"]
    assert "Invoice 4711" in seen["masked"]
    assert "Payroll" not in seen["masked"]


LEFT, WINDOW = Box(0, 0, 800, 600), Window(1, "A title", 0, Box(100, 100, 400, 300), False)


@pytest.mark.parametrize(
    ("window", "masks", "told"),
    [
        (WINDOW, [], True),
        (replace(WINDOW, box=Box(750, 100, 400, 300)), [], False),  # mostly on another monitor
        (replace(WINDOW, box=Box(900, 100, 400, 300)), [], False),
        (WINDOW, [Box(100, 250, 400, 40)], True),
        (
            WINDOW,
            [Box(100, 250, 400, 40), Box(100, 300, 400, 40), Box(100, 345, 400, 55), Box(100, 200, 400, 45)],
            False,
        ),
        (WINDOW, [Box(150, 70, 40, 20)], False),  # on its frame
        (WINDOW, [Box(150, 110, 40, 20)], False),  # on the area where programs draw their own titles
    ],
)
def test_a_title_is_sent_if_the_window_is_visible_and_unmasked(window: Window, masks: list[Box], told: bool) -> None:
    assert may_leave(window.box, LEFT, [Mask("a rule", box) for box in masks]) is told


async def test_secrets_are_removed_before_a_title_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "correct-horse-battery-staple"
    title, name = f"{'x' * 70} {secret}", f"{'y' * 30} {secret}"

    async def screen(*_: Any) -> discovery.Screen:
        return (title,), {name: ("File > Save",)}

    monkeypatch.setattr(discovery.Discovery, "_windows_and_menus", screen)
    for each in ("startable", "recent_files"):
        monkeypatch.setattr(discovery, each, lambda *_, **__: ())
    finding = discovery.Discovery(Discover(), text_filter=lambda text: text.replace(secret, "{{secret:pin}}"))
    found = await finding._inventory(SimpleNamespace(), None, time.monotonic() + 5)  # type: ignore[arg-type]
    assert "correct" not in found.description()
    assert "x" * 60 in found.description()
    assert "y" * 30 in found.description()


class OnOneMonitor(PaintedDesktop):
    """A desktop whose agent is bound to the left half, with a window on each half."""

    async def look(self, *, after_action: bool = False) -> Frame:
        frame = await super().look(after_action=after_action)
        return replace(frame, monitor=Box(0, 0, frame.size.width // 2, frame.size.height))

    async def windows(self) -> Any:
        size = (await super().look()).size
        boxes = [Box(20, 60, 100, 100), Box(size.width // 2 + 20, 60, 100, 100)]
        return [Window(1, name, 0, box, False) for name, box in zip(("Mine", "Somebody elses"), boxes, strict=True)]


async def test_windows_of_another_monitor_are_not_sent(programs: Path) -> None:
    with ScriptedModel([DONE]) as model:
        async with agent(model, OnOneMonitor(), programs, discover=True):
            await pursue("Look.")
    assert "Mine" in opening(model.requests[0])
    assert "Somebody elses" not in opening(model.requests[0])


class Hung(PaintedDesktop):
    """A desktop that never answers one call, as when a program has grabbed the X server."""

    def __init__(self, asked: str) -> None:
        super().__init__()
        self.asked = asked

    async def windows(self) -> Any:
        await self._hang("windows")

    async def look(self, *, after_action: bool = False) -> Frame:
        await self._hang("look")
        return await super().look(after_action=after_action)

    async def _hang(self, asked: str) -> None:
        if asked == self.asked:
            self.asked = ""
            await asyncio.Event().wait()


@pytest.mark.parametrize("asked", ["windows", "look"])
async def test_a_hung_source_is_omitted_in_time(programs: Path, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    """The capture for the masks counts as well."""
    assert discovery.MOST_S <= 2.0
    monkeypatch.setattr(discovery, "MOST_S", 1.0)
    desktop = Hung(asked)
    with ScriptedModel([DONE]) as model:
        async with asyncio.timeout(60), agent(model, desktop, programs, discover=True):
            await pursue("Look at it.")
    assert desktop.asked == "", "it was asked"
    assert r"Meridian \u003cLedger>" in opening(model.requests[0]), "the other findings are sent nevertheless"


def test_cached_menus_are_used_for_a_program_without_a_tree(tmp_path: Path) -> None:
    menus.save_menus(tmp_path, menus.version_of(os.getpid()), ["File > Save"])
    run: Any = SimpleNamespace(home=tmp_path)
    found = discovery.Discovery(Discover())
    assert found._menus(run, ElementTree(), os.getpid()) == ("File > Save",)
    assert discovery.Discovery(Discover(), unseen=False)._menus(run, ElementTree(), os.getpid()) == ()
