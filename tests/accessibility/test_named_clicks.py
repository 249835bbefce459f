"""A click that names one button and points at another is withheld, on real programs of each toolkit.

The opposite error is tested as well: correct clicks, and vague descriptions, are performed.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from holo_tasks.core.elements.named_target import Control, controls_in
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.loop import element_tree
from holo_tasks.loop.element_tree import Elements
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.spot_text import SpotText
from tests.accessibility.conftest import APPS
from tests.accessibility.test_programs import FLAGS, until_there
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

pytestmark = pytest.mark.desktop
SILENT = ("tk", "swing")
TOOLKITS = ("gtk3", pytest.param("gtk4", marks=pytest.mark.long), "qt", "chromium", *SILENT)
PAGE = """<!doctype html><meta charset=utf-8><title>Supplier form</title>
<style>body, button, input { font: 18px sans-serif } button { padding: 6px 20px; margin: 12px }</style>
<p><label>Name <input value="Ada Supplies"></label></p>
<p><button>Save</button><button>Don't save</button><button>Close</button></p>
<p><label><input type=checkbox> Urgent</label></p>
<div onclick="1" style="padding: 24px">A row of our own</div>"""


@dataclass
class Stage:
    """A form on a desktop, shared by the tests of a toolkit."""

    toolkit: str
    desktop: VirtualDesktop

    async def place(self, name: str) -> Box:
        """Return the box of a button from the accessibility tree, or from OCR for a program without a tree."""
        if self.toolkit in SILENT:
            controls: list[Control] = await SpotText().controls(await self.desktop.look())
        else:
            controls = controls_in(await until_there(self.desktop, "button", name))
        return next(control.box for control in controls if control.name == name)

    async def drawn(self, name: str) -> Box:
        """Return the drawn box of a button: GTK 4 reports the box of its label."""
        if not can_read():
            pytest.skip("needs OCR, the extra rehearsal")
        return next(each.box for each in await SpotText().controls(await self.desktop.look()) if each.name == name)

    async def field(self, name: str) -> Box:
        """Return the box of a field from the accessibility tree, or from OCR for a program without a tree."""
        if self.toolkit in SILENT:
            fields = await SpotText().fields(await self.desktop.look(), (await self.place("Close")).center)
        else:
            fields = [each for each in controls_in(await until_there(self.desktop, None, name)) if "field" in each.role]
        return next(each.box for each in fields if each.name == name)

    async def told(self, *calls: dict[str, Any]) -> tuple[int, list[str]]:
        """Perform a model's calls. Return the number performed, and the reasons for withholding the others."""
        recorder, reader = MemoryRecorder(), SpotText() if can_read() else None
        model = MemoryModel([wrote(call) for call in (*calls, step("answer", content="done"))])
        walk = walk_of(as_model(model), desktop=self.desktop, recorder=recorder)
        walk.services = replace(walk.services, elements=Elements(self.desktop), spots=reader)
        await work(walk)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)  # the tree is still being read, and the next test has another event loop
        return len(recorder.of("action")), [event.reason for event in recorder.of("correction")]

    def at(self, box: Box, dx: int = 0, dy: int = 0) -> dict[str, int]:
        size = self.desktop.size
        x, y = (box.center.x + dx + 0.5) * 1000 / size.width, (box.center.y + dy + 0.5) * 1000 / size.height
        return {"x": round(x), "y": round(y)}


@pytest.fixture(scope="module", params=TOOLKITS)
def stage(
    request: pytest.FixtureRequest, form: Callable[..., list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    toolkit, folder = request.param, tmp_path_factory.mktemp("form")
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    if toolkit in SILENT and not can_read():
        pytest.skip("needs OCR, the extra rehearsal")
    match toolkit:
        case "chromium":
            app = shlex.split(f"chromium {FLAGS} --user-data-dir={folder}/profile --app=file://{folder}/page.html")
        case "tk":
            app = [tk_python(), str(APPS / "form_tk.py"), str(folder / "done")]
        case "swing":
            if shutil.which("javac") is None:
                pytest.skip("needs the Debian package default-jdk")
            app = ["java", str(APPS / "FormSwing.java"), str(folder / "done")]
        case "qt":
            pytest.importorskip("PySide6", reason="needs the package PySide6, a test dependency")
            app = form(toolkit, folder / "done")
        case _:
            app = form(toolkit, folder / "done")
    desktop = asyncio.run(VirtualDesktop.start(app=app, env={"HOME": str(folder)}, app_timeout_s=60))
    yield Stage(toolkit, desktop)
    asyncio.run(desktop.close())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for a tree: on a busy machine a late one is omitted."""
    for patience in ("FIRST_S", "AT_HAND_S", "SLOW_S"):
        monkeypatch.setattr(element_tree, patience, 30.0)


async def test_a_click_on_another_button_than_the_named_one_is_withheld(stage: Stage) -> None:
    save, close = await stage.place("Save"), await stage.place("Close")
    done, (reason,) = await stage.told(step("click", element="the 'Close' button", **stage.at(save)))
    assert done == 0
    assert reason.startswith("You named ‘Close’; the point is on ‘Save’. ‘Close’ is at (")
    x, y = json.loads(reason.split("‘Close’ is at ")[1].split(".")[0].replace("(", "[").replace(")", "]"))
    assert close.contains(
        type(close.center)(x * stage.desktop.size.width // 1000, y * stage.desktop.size.height // 1000)
    )


async def test_a_click_on_a_button_whose_name_has_a_word_more_or_less_is_withheld(stage: Stage) -> None:
    if stage.toolkit == "swing":
        pytest.skip("its form has no such button")
    save, other = await stage.place("Save"), await stage.place("Don't save")
    done, (reason,) = await stage.told(step("click", element="the Save button", **stage.at(other)))
    assert (done, reason.partition(" ‘Save’ is at (")[0]) == (0, "You named ‘Save’; the point is on ‘Don't save’.")
    if stage.toolkit != "tk":  # reading the whole screen for each longer description would take too long
        done, (reason,) = await stage.told(step("double_click", element='the "Don\'t save" button', **stage.at(save)))
        assert (done, "the point is on ‘Save’" in reason) == (0, True), reason
    for words, box in (("the Save button", save), ("Don't save", other), ("the second button", other)):
        assert await stage.told(step("click", element=words, **stage.at(box), button="middle")) == (1, [])


@pytest.mark.parametrize(
    "words", ["Save", "the Save button", "the leftmost button", "Sichern", "Save, left of 'Close'"]
)
async def test_a_click_that_may_be_right_is_carried_out(stage: Stage, words: str) -> None:
    save = await stage.place("Save")
    assert await stage.told(step("move_to", element=words, **stage.at(save))) == (1, [])
    assert await stage.told(step("click", element=words, **stage.at(save), button="middle")) == (1, [])


async def test_a_click_whose_words_are_vague_is_carried_out(stage: Stage) -> None:
    if stage.toolkit not in ("gtk3", "tk"):
        pytest.skip("one toolkit with a tree and one without it show the rule")
    save = await stage.place("Save")
    for words in ("", "Sav", "the disk icon", "Store the record\n(first button)", "Speichern unter dem Namen"):
        assert await stage.told(step("click", element=words, **stage.at(save), button="middle")) == (1, []), words


async def test_a_click_on_a_button_whose_words_name_a_field_is_withheld(stage: Stage) -> None:
    name = "Password" if stage.toolkit == "tk" else "Name"
    close, field = await stage.place("Close"), await stage.field(name)
    for words in (f"the field {name}", f"'{name}' input field"):
        done, (reason,) = await stage.told(step("click", element=words, **stage.at(close)))
        assert (done, reason.partition(f" ‘{name}’ is at (")[0]) == (0, f"You named ‘{name}’; the point is on ‘Close’.")
        assert await stage.told(step("click", element=words, **stage.at(field), button="middle")) == (1, [])
    assert await stage.told(step("click", element="the field Address", **stage.at(close), button="middle")) == (1, [])


async def test_a_click_five_pixels_beside_a_button_is_withheld(stage: Stage) -> None:
    save = await stage.drawn("Save")
    done, (reason,) = await stage.told(step("click", element="Save button", **stage.at(save, dy=-save.height // 2 - 5)))
    assert (done, "px above ‘Save’, which is at (" in reason) == (0, True), reason


async def test_a_click_on_the_padding_of_a_button_is_carried_out(stage: Stage) -> None:
    save = await stage.drawn("Save")
    for dx in (-save.width // 2 + 6, save.width // 2 - 6):
        assert await stage.told(step("click", element="Save button", **stage.at(save, dx), button="middle")) == (1, [])


async def test_a_double_click_and_a_drag_on_another_button_are_withheld(stage: Stage) -> None:
    save, close = stage.at(await stage.place("Save")), stage.at(await stage.place("Close"))
    free = {"x": save["x"] + 100, "y": save["y"] + 100}
    calls = [
        step("double_click", element="Close button", **save),
        step("drag_and_drop", element="Drag the Close button to the bottom", **between(save, free)),
        step("drag_and_drop", element="Drag the picture to the Close button", **between(free, save)),
    ]
    done, reasons = await stage.told(*calls)
    assert done == 0, reasons
    assert [reason.partition(" ‘Close’ is at ")[0] for reason in reasons] == [
        "You named ‘Close’; the point is on ‘Save’."
    ] * 3
    right = step("drag_and_drop", element="Drag the Close button onto Save", **between(close, save))
    vague = step("drag_and_drop", element="Zieh den ersten Knopf auf den dritten", **between(save, close))
    assert await stage.told(right, vague) == (2, [])


def between(start: dict[str, int], end: dict[str, int]) -> dict[str, int]:
    return {"x1": start["x"], "y1": start["y"], "x2": end["x"], "y2": end["y"]}


async def test_a_click_beside_the_box_of_a_check_box_is_carried_out(stage: Stage) -> None:
    if stage.toolkit in SILENT:
        pytest.skip("its programs do not report check boxes")
    (urgent,) = (await until_there(stage.desktop, "check box", "Urgent")).find("check box", "Urgent")
    point = stage.at(Box(urgent.box.left + 30, urgent.box.top, 1, urgent.box.height))
    assert await stage.told(step("click", element="the Urgent check box", **point)) == (1, [])


async def test_an_element_of_a_page_without_a_role_may_be_clicked(stage: Stage) -> None:
    if stage.toolkit != "chromium":
        pytest.skip("is about web pages")
    (text,) = (await until_there(stage.desktop, "label", "A row of our own")).find("label", "A row of our own")
    for dx, dy in ((0, 0), (0, 20), (200, 0)):
        assert await stage.told(step("click", element="our own row", **stage.at(text.box, dx, dy))) == (1, [])
