"""Guards and the trace use the accessibility tree of a real program's buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.screen.frame import Mask
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.loop import element_tree
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.walk import Walk
from holo_tasks.safety.approval_rules import Confirm
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from holo_tasks.vision.control_text import ScreenText
from tests.accessibility.conftest import APPS
from tests.accessibility.test_programs import FLAGS, until_there
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, walk_of

pytestmark = pytest.mark.desktop
LABELS = ("Save", "Don't save", "Close")
Shown = tuple[VirtualDesktop, Path]
SPACE = a_step("hotkey", keys=["space"])


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for names in the trace: on a busy machine, late ones are otherwise omitted."""
    for patience in ("FIRST_S", "AT_HAND_S", "SLOW_S"):
        monkeypatch.setattr(element_tree, patience, 30.0)


@pytest.fixture(scope="module")
def shown(form: Callable[..., list[str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """The GTK 3 form and the file with its saves; each test has its own event loop."""
    told = tmp_path_factory.mktemp("form") / "done"
    desktop = asyncio.run(VirtualDesktop.start(app=form("gtk3", told)))
    yield desktop, told
    asyncio.run(desktop.close())


async def walk_on(desktop: VirtualDesktop, **services: Any) -> tuple[Walk, MemoryRecorder]:
    recorder = MemoryRecorder()
    walk = walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder)
    walk.services = replace(walk.services, elements=Elements(desktop), **services)
    await walk.look()
    return walk, recorder


def click_on(desktop: VirtualDesktop, box: Any) -> Step:
    x, y = box.center.x * 1000 / desktop.size.width, box.center.y * 1000 / desktop.size.height
    return a_step("click", element="the button", x=round(x), y=round(y))


async def test_space_counts_as_a_press_of_the_focused_button_only(shown: Shown) -> None:
    desktop, told = shown
    (save,) = (await until_there(desktop, "button", "Save")).find("button", "Save")
    walk, recorder = await walk_on(desktop, reader=ScreenText())
    await walk.act(click_on(desktop, save.box))
    await walk.look(after_action=True)
    scene, gesture = walk.scene(walk.seen.frame), to_gesture(SPACE.tool_call, walk.seen.shot)
    assert await EffectButtons(LABELS).pressed_by(SPACE, walk.seen, scene) == {"Save"}
    blind = replace(scene, elements=None)
    assert await EffectButtons(LABELS).pressed_by(SPACE, walk.seen, blind) == set(LABELS)
    owner = await desktop.owner_at(None)
    assert not await Confirm(text="close").fits(SPACE.tool_call, gesture, owner, scene)
    assert await Confirm(text="^save$").fits(SPACE.tool_call, gesture, owner, scene)
    await walk.act(SPACE)
    assert [event.element for event in recorder.of("action")] == [
        {"role": "button", "name": "Save", "application": save.application, "alike": "1", "dialogs": "0"}
    ] * 2
    # Tab moves the focus to a neighbor, so the clicked button no longer has the focus.
    await walk.look(after_action=True)
    await walk.act(a_step("hotkey", keys=["tab"]))
    await walk.look(after_action=True)
    assert await EffectButtons(LABELS).pressed_by(SPACE, walk.seen, walk.scene(walk.seen.frame)) == set(LABELS)
    assert told.read_text().count("saved") == 2


async def test_a_masked_element_has_no_name_in_the_trace(shown: Shown) -> None:
    desktop, _ = shown
    (save,) = (await until_there(desktop, "button", "Save")).find("button", "Save")
    walk, recorder = await walk_on(desktop, redactor=Painter([FixedRegions([Mask("region", save.box)])]))
    await walk.act(click_on(desktop, save.box))
    (action,) = recorder.of("action")
    assert action.element == {"role": "button", "name": "", "application": save.application, "dialogs": "0"}
    known = await walk.services.elements.redacted_tree(walk.seen.masks)
    assert "Save" not in [each.name for each in known.elements]
    assert "Don't save" in [each.name for each in known.elements]


PAGE = """<!doctype html><meta charset=utf-8><title>Bills</title><body style="font: 20px sans-serif">
<p><button aria-label="Pay all" style="font-size:30px">\u2713</button></p>
<p><button aria-label="Keep">Delete</button></p>"""


async def test_accessible_names_extend_the_visible_text_but_do_not_replace_it_in_rules(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    app = f"chromium {FLAGS} --user-data-dir={tmp_path}/profile --app=file://{page}"
    async with VirtualDesktop(app=app, env={"HOME": str(tmp_path)}, app_timeout_s=60) as desktop:
        (pay,) = (await until_there(desktop, "button", "Pay all")).find("button", "Pay all")
        (keep,) = (await desktop.elements()).find("button", "Keep")
        walk, recorder = await walk_on(desktop, reader=ScreenText())
        scene, once = walk.scene(walk.seen.frame), EffectButtons(("Pay all", "Delete", "Keep"))
        on_sign, on_word = click_on(desktop, pay.box), click_on(desktop, keep.box)
        assert await once.pressed_by(on_sign, walk.seen, scene) == {"Pay all"}
        assert await once.pressed_by(on_sign, walk.seen, replace(scene, elements=None)) == set()
        assert await once.pressed_by(on_word, walk.seen, scene) == {"Delete", "Keep"}
        owner, gesture = await desktop.owner_at(keep.box.center), to_gesture(on_word.tool_call, walk.seen.shot)
        for text in ("delete", "^keep$"):
            assert await Confirm(text=text).fits(on_word.tool_call, gesture, owner, scene)
        assert not await Confirm(text="pay").fits(on_word.tool_call, gesture, owner, scene)
        await walk.act(on_sign)
        assert recorder.of("action")[0].element == {
            "role": "button",
            "name": "Pay all",
            "application": pay.application,
            "alike": "1",
            "dialogs": "0",
        }


async def test_a_program_without_a_tree_is_recorded_without_an_element(tmp_path: Path) -> None:
    async with VirtualDesktop(app=[tk_python(), str(APPS / "probe_counter.py")]) as desktop:
        walk, recorder = await walk_on(desktop)
        await walk.act(a_step("click", element="x", x=500, y=500))
        assert recorder.of("action")[0].element == {}
        assert recorder.of("receipt")
