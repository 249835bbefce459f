"""Every use of the accessibility tree on a program of each toolkit, with the tree and without it.

Tk has no tree: the result says so, and text on the screen serves instead. The uses, in their order: scripts, states and
interruptions, `localize`, guards, values, the trace, and redaction.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.accessibility.assembly import NOBODY
from holo_tasks.agent.screen.named_element import Named, named_element
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.input.gestures import Click, Hotkey, Scroll
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.states import State, Widget
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.loop import element_tree
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.screens import Interruption, Screens
from holo_tasks.loop.walk import Walk
from holo_tasks.safety.approval_rules import Confirm
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.script import Script
from holo_tasks.vision.control_text import ScreenText
from holo_tasks.vision.element_check import ElementCheck
from holo_tasks.vision.name_fit import agrees
from holo_tasks.vision.state_recognizer import ScreenRecognizer
from tests.accessibility.conftest import APPS
from tests.accessibility.test_programs import FLAGS, PATIENCE_S, SECRET, until_there
from tests.support.gtk_ledger import Told
from tests.support.scripts import done
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, walk_of

pytestmark = pytest.mark.desktop
TOOLKITS = ("gtk3", pytest.param("gtk4", marks=pytest.mark.long), "qt", "chromium", "tk")
WRITTEN = "Zoë & Söhne"
NOBODY_TELLS = "No program (on this screen )?reports"
SPACE, ENTER = a_step("hotkey", keys=["space"]), a_step("hotkey", keys=["enter"])
LABELS = ("Save", "Don't save")
PAGE = f"""<!doctype html><meta charset=utf-8><title>Supplier form</title>
<style>body, button, input {{ font: 18px sans-serif }} input {{ padding: 6px }} button {{ padding: 6px 20px }}</style>
<p><label>Name <input value="Ada Supplies"></label></p>
<p><label>Password <input type=password value="{SECRET}"></label></p>
<p><label><input type=checkbox> Urgent</label></p>
<p><button onclick="out.textContent = 'Saved.'">Save</button>
<button>Don't save</button></p><p><label id=out>Ready.</label></p>
<dialog id=tip><p>Names can be sorted.</p><button onclick="tip.close()">Got it</button></dialog>
<div id=list></div><script>
addEventListener("keydown", (key) => {{ if (key.key == "F9") tip.showModal(); }});
for (let n = 0; n < 60; n++)
  list.innerHTML += `<p><button>Row ${{n}}</button></p>`;
</script>"""


@dataclass
class Stage:
    """A form on a desktop, shared by the tests of a toolkit."""

    toolkit: str
    desktop: VirtualDesktop
    log: Path
    held: str = field(default="Ada Supplies")
    """Content of the field Name."""

    @property
    def tells(self) -> bool:
        return self.toolkit != "tk"

    async def place(self, name: str) -> Box:
        """Return the box of a button from the tree, or around the point found by its text."""
        if self.tells:
            return (await until_there(self.desktop, "button", name)).find("button", name)[0].box
        found = await named_element(await self.walk(), f"the {name} button")
        assert found.at is not None
        return Box.near(found.at, 40, 20)

    async def walk(self, told: Any = None, **options: Any) -> Walk:
        walk = walk_of(as_model(MemoryModel([])), desktop=told or self.desktop, **options)
        walk.services = replace(walk.services, elements=Elements(told or self.desktop), reader=ScreenText())
        await walk.look()
        return walk


@pytest.fixture(scope="module", params=TOOLKITS)
def stage(
    request: pytest.FixtureRequest, form: Callable[..., list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    toolkit, folder = request.param, tmp_path_factory.mktemp("form")
    if toolkit == "qt":
        pytest.importorskip("PySide6", reason="needs the package PySide6, a test dependency")
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    log = folder / "done"
    log.touch()
    match toolkit:
        case "chromium":
            app = shlex.split(f"chromium {FLAGS} --user-data-dir={folder}/profile --app=file://{folder}/page.html")
        case "tk":
            app = [tk_python(), str(APPS / "form_tk.py"), str(log)]
        case _:
            app = form(toolkit, log, *([40] if toolkit == "gtk3" else []))
    # Each test has its own event loop; a desktop works with any loop.
    desktop = asyncio.run(VirtualDesktop.start(app=app, env={"HOME": str(folder)}, app_timeout_s=60))
    if toolkit != "tk":
        asyncio.run(until_there(desktop, "button", "Save"))
    yield Stage(toolkit, desktop, log)
    asyncio.run(desktop.close())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for names in the trace: on a busy machine, late ones are otherwise omitted."""
    for patience in ("FIRST_S", "AT_HAND_S", "SLOW_S"):
        monkeypatch.setattr(element_tree, patience, 30.0)


class Fast:
    """A clock that advances by half a second at each call."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.5
        return self.now_s


async def saving(hands: Hands, name: str) -> str:
    await hands.click(role="text field", name="Name")
    await hands.write(name, overwrite=True)
    await hands.click(role="button", name="Save")
    await hands.wait_for(Widget("label", "Saved."))
    return str(await hands.read(role="text field", name="Name"))


async def saving_by_text(hands: Hands) -> str:
    await hands.click("Save", role="button", name="Save")
    await hands.wait_for(Widget("label", "Stored it", text="Stored it"))
    return str(await hands.read(role="label", name="Stored*", line="(Stored.*)"))


async def pressing(hands: Hands) -> None:
    await hands.click(role="button", name="Save")


async def reading(hands: Hands) -> str:
    return str(await hands.read(role="text field", name="Name"))


async def reading_beside_its_label(hands: Hands) -> str:
    return str(await hands.read(right_of="Name"))


async def test_1_scripts_press_and_write_by_role_and_name(stage: Stage) -> None:
    silent = Told(stage.desktop)
    with pytest.raises(GaveUp, match=NOBODY_TELLS):
        await done(await stage.walk(silent, now_s=Fast()), Script(pressing).brain())
    if stage.tells:
        recognizer = ScreenRecognizer(elements=stage.desktop.elements)
        stage.held = WRITTEN
        assert await done(await stage.walk(), Script(saving, name=WRITTEN).brain(recognizer)) == WRITTEN
    else:
        with pytest.raises(GaveUp, match=NOBODY_TELLS):
            await done(await stage.walk(now_s=Fast()), Script(pressing).brain())
        assert await done(await stage.walk(), Script(saving_by_text).brain()) == "Stored it"
    if stage.toolkit != "chromium":
        assert stage.log.read_text().splitlines()[-1] == f"saved {stage.held}"


async def test_2_states_are_recognized_by_their_elements(stage: Stage) -> None:
    frame, silent = await stage.desktop.look(), Told(stage.desktop)
    other, form = (State(name, Widget("button", name)) for name in ("Log in", "Don't save"))
    read = State("read", Widget("button", "Don't save", text="Don't save"))
    by_tree = ScreenRecognizer(elements=stage.desktop.elements)
    assert await by_tree.recognize(frame, (other, form)) is (form if stage.tells else None)
    assert await ScreenRecognizer(elements=silent.elements).recognize(frame, (other, form)) is None
    assert await by_tree.recognize(frame, (other, read)) is read


async def got_it(hands: Hands) -> None:
    await hands.click("Got it", role="button", name="Got it")


async def test_2_interruptions_are_recognized_by_their_elements_and_cleared(stage: Stage) -> None:
    """On Tk the states are recognized by their text, as a mark without text does not match there."""
    desktop, recorder = stage.desktop, MemoryRecorder()
    by_tree, silent = (ScreenRecognizer(elements=each.elements) for each in (desktop, Told(desktop)))
    named, read = (screens_with_a_tip(text=text) for text in (False, True))
    await desktop.do(Hotkey(("f9",)))
    told, end = named if stage.tells else read, time.monotonic() + PATIENCE_S
    while await by_tree.recognize(frame := await desktop.look(), told.candidates) is not told.state("tip"):
        assert time.monotonic() < end, await desktop.elements()
    if not stage.tells:
        assert (await desktop.elements()).why_not.startswith(NOBODY)
        assert await by_tree.recognize(frame, named.candidates) is None
    assert await silent.recognize(frame, named.candidates) is None
    assert await silent.recognize(frame, read.candidates) is read.state("tip")

    async def perform(do: Any, what: str, meanwhile: Screens) -> Any:
        return await done(await stage.walk(), do.brain(by_tree, meanwhile))

    guide = Guide(told)
    await Executor(await stage.walk(recorder=recorder), Walk.act, "script", by_tree, perform).carry_out(guide.clear())
    assert [(event.name, event.times) for event in recorder.of("interruption")] == [("tip", 1)]
    assert guide.here == "form"


def screens_with_a_tip(*, text: bool) -> Screens:
    """Return the screens of the form, recognized by elements alone or, with ``text``, also without a tree."""
    form, tip = (
        State(name, Widget("button", button, text=button if text else ""))
        for name, button in (("form", "Don't save"), ("tip", "Got it"))
    )
    return Screens([form], [Interruption(tip, Script(got_it))])


async def test_3_localize_uses_the_tree_or_the_text_before_the_model(stage: Stage) -> None:
    save = await stage.place("Save")
    found = await named_element(await stage.walk(), "the Save button")
    assert found.at is not None
    assert save.contains(found.at)
    assert found.by == ("accessibility" if stage.tells else "text")
    field_of = await named_element(await stage.walk(), "the field Name")
    assert field_of.by == ("accessibility" if stage.tells else "model")
    blind = await named_element(await stage.walk(Told(stage.desktop)), "the field Name")
    assert blind == Named(why="No program reports it with certainty. OCR did not find it at exactly one place either.")


async def test_4_guards_know_the_button_under_the_pointer_and_the_one_with_the_keyboard(stage: Stage) -> None:
    walk, save = await stage.walk(), await stage.place("Save")
    click = Click(save.center)
    step = a_step("click", element="it", **permille(stage.desktop, save))
    owner, scene = await stage.desktop.owner_at(save.center), walk.scene(walk.seen.frame)
    named = ("Save",) if stage.tells else ()
    assert await scene.called(save.center) == named
    assert await replace(scene, elements=None).called(save.center) == ()
    on_it = "^save$" if stage.tells else "save"  #  text around the point, for keys the text of the window
    assert await Confirm(text=on_it).fits(step.tool_call, click, owner, scene)
    await walk.act(step)
    await walk.look(after_action=True)
    scene, gesture = walk.scene(walk.seen.frame), to_gesture(SPACE.tool_call, walk.seen.shot)
    assert isinstance(gesture, Hotkey)
    assert (await scene.focused_button(gesture)).names == named
    assert (await replace(scene, elements=None).focused_button(gesture)).names == ()
    for key in (SPACE, ENTER):
        gesture = to_gesture(key.tool_call, walk.seen.shot)
        assert isinstance(gesture, Hotkey)
        assert (await scene.focused_button(gesture)).names == named
        assert await Confirm(text=on_it).fits(key.tool_call, gesture, owner, scene)
        assert await EffectButtons(LABELS).pressed_by(key, walk.seen, scene) == (
            {"Save"} if stage.tells else set(LABELS)
        )


async def test_5_values_are_read_exactly(stage: Stage) -> None:
    if stage.tells:
        assert await done(await stage.walk(), Script(reading).brain()) == stage.held
    else:
        assert await done(await stage.walk(), Script(reading_beside_its_label).brain()) == stage.held
    for told in (Told(stage.desktop), *([] if stage.tells else [None])):
        with pytest.raises(GaveUp, match="No value can be read with certainty"):
            await done(await stage.walk(told), Script(reading).brain())


async def test_6_the_trace_names_the_element_that_was_hit(stage: Stage) -> None:
    for told, names in ((None, ["Save"] if stage.tells else [None]), (Told(stage.desktop), [None])):
        recorder = MemoryRecorder()
        walk = await stage.walk(told, recorder=recorder)
        await walk.act(a_step("click", element="it", **permille(stage.desktop, await stage.place("Save"))))
        assert [event.element.get("name") for event in recorder.of("action")] == names


async def test_7_masked_and_protected_values_never_leave_the_tree(stage: Stage) -> None:
    save = await stage.place("Save")
    walk = await stage.walk(redactor=Painter([FixedRegions([Mask("region", save)])]))
    tree, elements = await stage.desktop.elements(), walk.services.elements
    assert elements is not None
    known = await elements.redacted_tree(walk.seen.masks)
    for each in (tree, known):
        assert SECRET not in repr(each)
        assert [one.value for one in each.find("password field")] == ([""] if stage.tells else [])
    assert ("Save" in names(tree), "Save" in names(known)) == (stage.tells, False)
    assert ("Don't save" in names(known)) is stage.tells


async def test_scrolled_rows_have_their_current_positions(stage: Stage) -> None:
    """GTK reports every row, Chromium only those in sight; neither sends a signal when that changes."""
    if stage.toolkit not in ("gtk3", "chromium"):
        pytest.skip("this form has nothing to scroll")
    desktop, elements = stage.desktop, Elements(stage.desktop)
    before = (await elements.read()).find("button", "Row *")
    await desktop.do(Scroll(before[0].box.center, "down", 5))
    end = time.monotonic() + PATIENCE_S
    while not await all_are_where_they_are_drawn(desktop, elements, before):
        assert time.monotonic() < end, (await elements.read()).find("button", "Row *")
    await desktop.do(Scroll(before[0].box.center, "up", 50))  # restore the state for the other tests
    await desktop.look(after_action=True)


async def all_are_where_they_are_drawn(desktop: VirtualDesktop, elements: Elements, before: list[Element]) -> bool:
    """Return whether other rows are reported than before, each with its name drawn in its box."""
    rows, frame = (await elements.read()).find("button", "Row *"), await desktop.look()
    whole = [each for each in rows if each.box.height == max(one.box.height for one in rows)]
    read = [ElementCheck().read(frame, each.box, room=True) for each in whole]
    new = {each.name for each in whole} - {each.name for each in before}
    return bool(new) and all(map(agrees, [each.name for each in whole], read))


def permille(desktop: VirtualDesktop, box: Box) -> dict[str, int]:
    """Return the center of a box in a model's coordinates."""
    size = desktop.size
    return {"x": round(box.center.x * 1000 / size.width), "y": round(box.center.y * 1000 / size.height)}


def names(tree: ElementTree) -> list[str]:
    return [each.name for each in tree.elements]
