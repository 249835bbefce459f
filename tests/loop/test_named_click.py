"""A press whose description names another control than the one at its point is withheld; the model gets both names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import TOO_LATE, Application, ElementTree
from holo_tasks.core.elements.named_target import Control, Spot
from holo_tasks.core.input.gestures import Click, Gesture, Pause
from holo_tasks.core.programs import Owner
from holo_tasks.core.prompts.toolbox import STANDARD
from holo_tasks.core.screen.frame import Frame, Mask
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.loop import element_tree
from holo_tasks.loop.element_tree import Elements, NewestTree
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.presses.named_click import NamedClicks
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from tests.support.element_trees import PID, TellsTree, element, tree_of, window
from tests.support.painted_desktop import WHOLE, PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, walk_of, work, wrote

SAVE, DELETE, FIELD = Box(200, 100, 40, 20), Box(100, 100, 40, 20), Box(100, 40, 100, 20)
FORM = tree_of(
    window(WHOLE),
    element("button", "Delete", DELETE),
    element("button", "Save", SAVE),
    element("text field", "Amount", FIELD),
    element("text field", "Date", Box(100, 70, 100, 20)),
)
DONE = step("answer", content="done")
TOLD = "You named ‘Save’; the point is on ‘Delete’. ‘Save’ is at (689, 552). Nothing was pressed."


def at(box: Box, dx: int = 0, dy: int = 0) -> dict[str, int]:
    x, y = box.center.x + dx, box.center.y + dy
    return {"x": round((x + 0.5) * 1000 / WHOLE.width), "y": round((y + 0.5) * 1000 / WHOLE.height)}


def between(start: Box, end: Box) -> dict[str, int]:
    one, other = at(start), at(end)
    return {"x1": one["x"], "y1": one["y"], "x2": other["x"], "y2": other["y"]}


class Reads:
    """A reader of spots that counts its calls."""

    def __init__(self, spot: tuple[Spot, list[Control]] | None, *controls: Control) -> None:
        self.found, self.all, self.crops, self.screens = spot, list(controls), 0, 0

    async def spot(self, frame: Frame, at: Point) -> tuple[Spot, list[Control]] | None:
        self.crops += 1
        return self.found

    async def texts(self, frame: Frame) -> list[tuple[str, Box]]:
        return []

    async def controls(self, frame: Frame) -> list[Control]:
        self.screens += 1
        return self.all


class Case:
    """A model on a painted desktop whose program reports an accessibility tree."""

    def __init__(self, *said: Any, tree: ElementTree = FORM, **how: Any) -> None:
        self.desktop, self.recorder, self.told = PaintedDesktop(), MemoryRecorder(), TellsTree(tree)
        self.desktop.owners = lambda at: Owner("/usr/bin/painted", box=WHOLE, pid=PID)
        self.model = MemoryModel([wrote(each) for each in (*said, DONE)])
        redactor, spots = how.pop("redactor", None), how.pop("spots", None)
        self.walk = walk_of(
            as_model(self.model, tools=(*STANDARD, "write_at")),
            desktop=self.desktop,
            recorder=self.recorder,
            redactor=redactor,
        )
        self.walk.services = replace(self.walk.services, elements=Elements(self.told, **how), spots=spots)

    async def presses(self) -> list[Gesture]:
        await work(self.walk)
        return [gesture for gesture in self.desktop.gestures if not isinstance(gesture, Pause)]

    @property
    def answer(self) -> str:
        """The messages that the model gets after its first call."""
        return json.dumps(self.model.bodies[1]["messages"], ensure_ascii=False)

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.recorder.of("correction")]


def click(words: str, box: Box, dx: int = 0, dy: int = 0, **more: Any) -> Any:
    return step("click", element=words, **at(box, dx, dy), **more)


async def test_a_wrong_press_is_withheld_and_the_next_request_explains_it() -> None:
    case = Case(click("the Save button", DELETE), click("the Save button", SAVE))
    (press,) = await case.presses()
    assert press.at == SAVE.center
    assert TOLD in case.answer
    assert len(case.model.bodies) == 3
    assert [reason.startswith(TOLD) for reason in case.reasons] == [True]
    assert len(case.recorder.of("action")) == 1, "a withheld press is not recorded as an action"
    assert case.walk.guard.actions == 1


async def test_the_reported_position_is_that_of_the_named_control() -> None:
    told = {"x": 689, "y": 552}
    case = Case(click("Save", DELETE), step("click", element="Save", **told))
    (press,) = await case.presses()
    assert SAVE.contains(press.at)


@pytest.mark.parametrize(
    "call",
    [
        step("double_click", element="Save", **at(DELETE)),
        click("Save", DELETE, button="right"),
        step("write_at", element="Amount field", content="12", **at(Box(100, 70, 100, 20))),
        step("drag_and_drop", element="Save to Amount", **between(DELETE, FIELD)),
        step("drag_and_drop", element="Save to Amount", **between(SAVE, Box(100, 70, 100, 20))),
    ],
)
async def test_every_kind_of_press_is_withheld(call: Any) -> None:
    case = Case(call)
    assert await case.presses() == []
    assert "Nothing was pressed." in case.answer


@pytest.mark.parametrize(
    "call",
    [
        click("Save", SAVE),
        click("the button on the left", DELETE),
        step("move_to", element="Save", **at(DELETE)),
        step("scroll", element="Save", direction="down", **at(DELETE)),
        step("write_at", element="Amount field", content="12", **at(FIELD)),
        step("drag_and_drop", element="Delete to Save", **between(DELETE, SAVE)),
        step("drag_and_drop", element="the first card into the last column", **between(DELETE, SAVE)),
    ],
)
async def test_a_press_that_may_be_right_is_performed(call: Any) -> None:
    case = Case(call)
    assert len(await case.presses()) == 1
    assert case.reasons == []


async def test_a_repeated_call_is_performed() -> None:
    case = Case(click("Save", DELETE), click("Save", DELETE))
    (press,) = await case.presses()
    assert press.at == DELETE.center
    assert "it is carried out" in case.reasons[1]


async def test_another_wrong_point_and_a_later_repetition_are_withheld_again() -> None:
    hop = step("hotkey", keys=["tab"])
    case = Case(click("Save", DELETE), click("Save", DELETE, dx=3), hop, click("Save", DELETE, dx=3))
    assert [type(gesture).__name__ for gesture in await case.presses()] == ["Hotkey"]
    assert len(case.reasons) == 3


@pytest.mark.parametrize(("dx", "side"), [(-25, "5 px to the left of"), (24, "5 px to the right of")])
async def test_a_point_next_to_a_small_control_is_reported_and_not_moved(dx: int, side: str) -> None:
    case = Case(click("Save", SAVE, dx=dx), spots=Reads(None))
    assert await case.presses() == []
    assert f"The point is on no control, {side} ‘Save’, which is at (689, 552)." in case.answer


async def test_a_point_above_or_far_from_the_control_is_reported() -> None:
    case = Case(click("Save", SAVE, dy=-15), click("Save", SAVE, dx=70, dy=60), spots=Reads(None))
    assert await case.presses() == []
    assert "5 px above ‘Save’" in case.answer
    assert "the point is on no control" in case.reasons[1]


async def test_a_point_a_pixel_off_or_on_something_drawn_is_pressed() -> None:
    case = Case(click("Save", SAVE, dx=-21), click("Save", Box(20, 20, 20, 12)), spots=Reads(None))
    assert len(await case.presses()) == 2


@pytest.mark.parametrize("reader", [None, Reads((Spot("Save", "", SAVE, ("Save",)), []))])
async def test_a_point_on_the_padding_of_a_button_is_pressed(reader: Reads | None) -> None:
    case = Case(click("Save", SAVE, dx=-25), spots=reader)
    assert len(await case.presses()) == 1


@pytest.mark.parametrize("box", [SAVE, DELETE])
async def test_masked_controls_are_not_named(box: Box) -> None:
    case = Case(click("Save", DELETE), redactor=Painter([FixedRegions([Mask("region", box)])]))
    assert len(await case.presses()) == 1
    assert case.reasons == []


async def test_a_name_with_a_secret_is_not_reported() -> None:
    case = Case(click("Save", DELETE), text_filter=lambda text: text.replace("Delete", "Hidden"))
    assert len(await case.presses()) == 1


@pytest.mark.parametrize("tree", [replace(FORM, moving=True), ElementTree(complete=False)])
async def test_a_late_or_empty_tree_withholds_no_press(tree: ElementTree) -> None:
    case = Case(click("Save", DELETE), tree=tree)
    assert len(await case.presses()) == 1


async def test_a_tree_that_keeps_moving_withholds_no_press() -> None:
    case = Case(tree=replace(FORM, moving=True))
    seen, call = await case.walk.look(), a_step(**click("Save", DELETE)["tool_call"]).tool_call
    assert await NamedClicks().contradiction(case.walk.services, call, seen) == ""
    case.told.told = FORM
    assert await NamedClicks().contradiction(case.walk.services, call, seen)


@pytest.mark.parametrize(("slow_s", "reads"), [(30.0, 1), (-1.0, 2)])
async def test_the_recorded_name_comes_from_the_compared_tree_unless_outdated(
    monkeypatch: pytest.MonkeyPatch, slow_s: float, reads: int
) -> None:
    monkeypatch.setattr(element_tree, "SLOW_S", slow_s)
    told = TellsTree(FORM)
    elements = Elements(told)
    assert await elements.newest() is not None
    assert (await elements.hit(Click(SAVE.center), ()))["name"] == "Save"
    assert told.asked == reads


@pytest.mark.parametrize(("outdated_s", "name"), [(30.0, "Save"), (-1.0, None)])
async def test_the_compared_tree_names_the_action_if_a_busy_program_tells_no_newer_one(
    monkeypatch: pytest.MonkeyPatch, outdated_s: float, name: str | None
) -> None:
    """Reading the texts near a click may take longer than a tree counts as new."""
    monkeypatch.setattr(element_tree, "SLOW_S", -1.0)
    monkeypatch.setattr(element_tree, "OUTDATED_S", outdated_s)
    told = TellsTree(FORM)
    elements = Elements(told)
    assert await elements.newest() is not None
    told.takes_s = 30.0
    assert (await elements.hit(Click(SAVE.center), ())).get("name") == name


async def test_a_hung_program_withholds_no_press(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_tree, "LONGEST_S", 0.2)
    case = Case(click("Save", DELETE))
    case.told.takes_s = 30.0
    assert len(await case.presses()) == 1


async def test_the_tree_is_ignored_if_another_programs_window_is_at_the_point() -> None:
    case = Case(click("Save", DELETE))
    case.desktop.owners = lambda at: Owner("/usr/bin/other", box=WHOLE, pid=PID + 1)
    assert len(await case.presses()) == 1


async def test_the_tree_counts_though_no_window_is_known_at_the_point() -> None:
    case = Case(click("Save", DELETE))
    case.desktop.owners = lambda at: Owner("", box=WHOLE, pid=0)
    assert await case.presses() == []


@pytest.mark.parametrize(("is_fresh", "withheld"), [(True, True), (False, False)])
async def test_an_older_tree_is_read_again_before_a_press_is_withheld(is_fresh: bool, withheld: bool) -> None:
    """The form has changed since then: now the button *Save* is at the point."""
    case = Case(tree=tree_of(window(WHOLE), element("button", "Save", DELETE), element("button", "Delete", SAVE)))

    async def newest() -> NewestTree:
        return NewestTree(FORM, is_fresh)

    assert case.walk.services.elements is not None
    case.walk.services.elements.newest = newest  # type: ignore[method-assign]
    seen, call = await case.walk.look(), a_step(**click("Save", DELETE)["tool_call"]).tool_call
    assert bool(await NamedClicks().contradiction(case.walk.services, call, seen)) is withheld


async def test_the_elements_of_a_program_that_did_not_answer_withhold_no_press() -> None:
    late = (Application("form", PID, "gtk", "walk", note=TOO_LATE),)
    case = Case(click("Save", DELETE), tree=replace(FORM, applications=late))
    assert len(await case.presses()) == 1


async def test_the_nearest_of_several_controls_is_named() -> None:
    second = (element("button", "Save", SAVE.moved(100, 60)),)
    case = Case(click("Save", DELETE), tree=tree_of(*FORM.elements, *second))
    assert await case.presses() == []
    assert "The nearest of 2 controls named ‘Save’ is at (689, 552)." in case.answer


def read(text: str, box: Box) -> tuple[Spot, list[Control]]:
    return Spot(text, "", box, (text,)), []


SILENT = ElementTree(complete=False)


@pytest.mark.parametrize(
    ("tree", "words", "found", "pressed", "crops", "screens"),
    [
        (FORM, "Delete", read("Delete", DELETE), 1, 0, 0),
        (FORM, "Save", read("Delete", DELETE), 0, 1, 0),
        (FORM, "Save", read("Save", DELETE), 1, 1, 0),  # OCR overrules the tree
        (SILENT, "Delete", read("Delete", DELETE), 1, 1, 0),
        (SILENT, "the Save button", read("Delete", DELETE), 0, 1, 1),
        (SILENT, "the store button", read("Delete", DELETE), 1, 1, 1),
        (SILENT, "Save", None, 1, 1, 0),
        (SILENT, "Save", (Spot("", "", DELETE, (), is_bare=True), [Control("Save", "", DELETE.moved(26, 0))]), 0, 1, 0),
    ],
)
async def test_ocr_is_used_only_to_confirm_or_replace_the_tree(
    tree: ElementTree, words: str, found: Any, pressed: int, crops: int, screens: int
) -> None:
    case = Case(click(words, DELETE, dx=2), tree=tree)
    reader = Reads(found, Control("Save", "", SAVE))
    case.walk.services = replace(case.walk.services, spots=reader)
    assert len(await case.presses()) == pressed
    assert (reader.crops, reader.screens) == (crops, screens)


BELOW = DELETE.moved(0, 40)
ITEMS = tree_of(window(WHOLE), element("list item", "Invoice 2", DELETE), element("list item", "Invoice 1", BELOW))


@pytest.mark.parametrize(
    ("tree", "words", "found", "pressed", "screens"),
    [
        (ITEMS, "Invoice 1", read("Invoice 2", DELETE), 0, 0),
        (ITEMS, "Invoice 1", read("Invoice 1", DELETE), 1, 0),  # OCR overrules the tree
        (ITEMS, "Invoice 2", read("Invoice 2", DELETE), 1, 0),
        (SILENT, "Invoice 1", read("Invoice 2", DELETE), 0, 1),
        (SILENT, "Invoice 1 in the list", read("Invoice 1", DELETE), 1, 0),
        (SILENT, "the invoice", read("Invoice 2", DELETE), 1, 1),  # it may be another one
        (SILENT, "Invoice of Ada", read("Invoice 2", DELETE), 1, 1),
    ],
)
async def test_one_of_two_items_with_a_common_word_is_not_the_other(
    tree: ElementTree, words: str, found: Any, pressed: int, screens: int
) -> None:
    case = Case(click(words, DELETE, dx=2), tree=tree)
    reader = Reads(found, Control("Invoice 1", "", BELOW), Control("Invoice 2", "", DELETE))
    case.walk.services = replace(case.walk.services, spots=reader)
    assert len(await case.presses()) == pressed
    assert reader.screens == screens


async def test_a_scripts_clicks_are_not_compared() -> None:
    case = Case(click("Save", DELETE))
    await pursue(
        Executor(case.walk, type(case.walk).act, layer="script"),
        read=str,
        decide=lambda it, final: it.decide(answer_only=final),
        max_steps=5,
    )
    assert len(case.desktop.gestures) == 1
