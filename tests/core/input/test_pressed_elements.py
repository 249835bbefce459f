"""Accessible names of buttons can forbid a press. They never allow one that OCR alone would forbid."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import FOCUSED, NOWHERE, Element, ElementTree
from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.input.permit import Scene, check_field
from holo_tasks.core.input.pressed_elements import names_at, pressed_at
from holo_tasks.core.programs import Owner
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnyCall
from holo_tasks.core.prompts.toolbox import CALLS, Toolbox
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.presses.press_once import ENTER, EffectButtons
from holo_tasks.safety.approval_rules import Confirm
from tests.support.element_trees import PID, element, focused, tree_of, window
from tests.support.shots import shot

SIZE = Size(1000, 1000)  # makes one thousandth equal one pixel
SCREEN = Box.whole(SIZE)
SEARCH, DELETE, SIGN, FIELD = Box(10, 10, 90, 30), Box(110, 10, 90, 30), Box(210, 10, 30, 30), Box(10, 100, 200, 24)
WRITTEN = {"Search": SEARCH, "Delete": DELETE, "": SIGN}
FORM = (
    window(SCREEN),
    element("button", "Search", SEARCH),
    element("label", "Search", Box(20, 15, 60, 20), parent=1),
    element("button", "Delete", DELETE),
    element("button", "Print", SIGN),
    element("text field", "Reference", FIELD),
)
LABELS = ("Search", "Delete", "Print")
EVERY = Toolbox(offered=tuple(CALLS))
SHOT = shot(size=SIZE)
FRAME = Frame(bytes(3 * SCREEN.area), SIZE, ":0")
OWNER = Owner("/usr/bin/form", title="Form", box=SCREEN, pid=PID)


class Reads:
    """A reader with a text for each button, and all of the texts for a window."""

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return " ".join(WRITTEN) if isinstance(where, Box) else await self.on_target(frame, where)

    async def on_target(self, frame: Frame, at: Point) -> str:
        return next((text for text, box in WRITTEN.items() if box.contains(at)), "")

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        return FIELD if FIELD.contains(at) else None

    async def labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> Box | None:
        return await self.field_at(frame, at)


def with_keys(name: str, elements: Sequence[Element] = FORM) -> ElementTree:
    """Return the form's tree with the focus on a button."""
    return tree_of(*(focused(each) if (each.role, each.name) == ("button", name) else each for each in elements))


def scene(tree: ElementTree | None, clicked: Point | None = None) -> Scene:
    async def owner_at(at: Point | None) -> Owner:
        return OWNER

    async def elements() -> ElementTree:
        assert tree is not None
        return tree

    return Scene(FRAME, owner_at, Reads(), clicked=clicked, elements=None if tree is None else elements)


def call(**arguments: Any) -> AnyCall:
    return EVERY.read(arguments)


def click(at: Box, said: str = "a box") -> AnyCall:
    return call(tool_name="click", element=said, x=at.center.x, y=at.center.y)


def keys(*names: str) -> AnyCall:
    return call(tool_name="hotkey", keys=list(names))


async def once(what: AnyCall, on: Scene, *labels: str) -> set[str]:
    """Return the buttons that a call counts as pressing."""
    seen = NewestScreen(FRAME, SHOT, FRAME, FRAME)
    step = Step(thought="", tool_call=what)
    return set(await EffectButtons(labels or LABELS).pressed_by(step, seen, on))


async def asks(what: AnyCall, on: Scene, text: str) -> bool:
    """Return whether a call needs an approval by a rule about a text."""
    gesture = to_gesture(what, SHOT)
    assert gesture is not None
    return await Confirm(text=text).fits(what, gesture, OWNER, on)


async def test_a_button_with_an_icon_has_its_accessible_name() -> None:
    assert await once(click(SIGN), scene(None)) == set()
    assert await once(click(SIGN), scene(tree_of(*FORM))) == {"Print"}
    assert not await asks(click(SIGN), scene(None), "print")
    assert await asks(click(SIGN), scene(tree_of(*FORM)), "^print$")


async def test_a_label_inside_a_button_belongs_to_it() -> None:
    renamed = [replace(each, name="Send") if each.role == "button" else each for each in FORM]
    assert await asks(click(SEARCH), scene(tree_of(*renamed)), "^send$")
    assert await asks(click(SEARCH), scene(tree_of(*renamed)), "^search$")


async def test_a_button_without_a_name_has_the_names_inside_it() -> None:
    inner = replace(FORM[2], name="Pay")
    tree = tree_of(FORM[0], replace(FORM[1], name=""), inner)
    assert await once(call(tool_name="click", element="x", x=12, y=12), scene(tree), "Pay") == {"Pay"}


@pytest.mark.parametrize("key", ["space", "enter"])
async def test_a_key_presses_the_focused_button_if_that_is_certain(key: str) -> None:
    tree = with_keys("Search")
    on = scene(tree, SEARCH.center)
    assert await once(keys(key), on) == {"Search"}
    assert await once(keys(key), on, "Delete", ENTER) == ({ENTER} if key == "enter" else set())
    assert await asks(keys(key), on, "search")
    assert not await asks(keys(key), on, "delete")
    assert await asks(keys(key), scene(None, SEARCH.center), "delete"), (
        "without a tree it may be any button of the window"
    )


@pytest.mark.parametrize("key", ["space", "enter"])
async def test_a_key_may_press_any_button_if_the_focus_is_uncertain(key: str) -> None:
    search = with_keys("Search")
    two = tree_of(*(focused(each) if each.name in ("Search", "Delete") else each for each in FORM))
    not_sure = {
        "clicked elsewhere": scene(search, DELETE.center),
        "not clicked": scene(search),
        "called otherwise": scene(with_keys("Find", [replace(FORM[1], name="Find"), *FORM[1:]]), SEARCH.center),
        "two have it": scene(two, SEARCH.center),
        "another program's": scene(tree_of(*(replace(each, pid=8) for each in search.elements)), SEARCH.center),
        "not there": scene(
            tree_of(*(replace(each, box=NOWHERE) if FOCUSED in each.states else each for each in search.elements)),
            SEARCH.center,
        ),
        "no button": scene(
            tree_of(
                *(replace(each, role="text field") if FOCUSED in each.states else each for each in search.elements)
            ),
            SEARCH.center,
        ),
    }
    for why, on in not_sure.items():
        assert await once(keys(key), on) >= {"Search", "Delete"}, why
        assert await asks(keys(key), on, "delete"), why


async def test_enter_may_press_the_windows_default_button() -> None:
    default = replace(FORM[3], states=FORM[3].states | {"is default"})
    on = scene(with_keys("Search", [*FORM[:3], default, *FORM[4:]]), SEARCH.center)
    assert await once(keys("enter"), on) >= {"Search", "Delete"}
    assert await once(keys("space"), on) == {"Search"}


async def test_the_tree_adds_buttons_even_if_the_picture_shows_a_field() -> None:
    button = replace(FORM[5], role="button", name="Delete all")
    said = scene(tree_of(*FORM[:5], button), FIELD.center)
    assert await asks(keys("s"), said, "delete"), "without a field, a letter may be the key of a button"
    assert not await asks(keys("s"), scene(tree_of(*FORM), FIELD.center), "delete")
    with pytest.raises(SecretRefused):
        await check_field("pin", ("Reference",), FIELD.center, said)
    assert await check_field("pin", ("Reference",), FIELD.center, scene(tree_of(*FORM))) == FIELD


async def test_a_field_only_in_the_tree_does_not_count() -> None:
    tree = tree_of(*FORM[:3], replace(FORM[3], role="text field"), *FORM[4:])
    assert not await scene(tree, DELETE.center).in_field(None)
    with pytest.raises(SecretRefused):
        await check_field("pin", ("Delete",), DELETE.center, scene(tree))


async def test_a_failing_tree_leaves_the_decision_to_ocr() -> None:
    async def broken() -> ElementTree:
        raise OSError("the bus is gone")

    on = replace(scene(None), elements=broken)
    assert await once(click(DELETE), on) == {"Delete"}
    assert await once(keys("space"), on) == set(LABELS)
    assert await asks(click(SEARCH), on, "pay"), "an unknown name counts as a match"


def lie(told: random.Random) -> ElementTree:
    """Return the form's tree with wrong data in it."""
    elements = list(with_keys(told.choice(("Search", "Delete", "Print"))).elements)
    for _ in range(told.randint(1, 4)):
        at = told.randrange(1, len(elements))
        one, other = elements[at], told.choice(elements)
        elements[at] = told.choice(
            (
                replace(one, name=other.name),
                replace(one, box=other.box),
                replace(one, box=NOWHERE),
                replace(one, box=one.box.moved(told.randint(-200, 200), told.randint(-50, 50))),
                replace(one, role=told.choice(("button", "text field", "label", "window", "panel", "menu item"))),
                replace(one, states=one.states ^ {FOCUSED}),
                replace(one, name="Sea\u200brch\n\x1b[2J" * 50),
                replace(one, parent=told.randrange(at)),
                replace(one, pid=told.choice((0, PID, 99))),
            )
        )
    return tree_of(*elements)


@pytest.mark.parametrize("seed", range(10))
async def test_no_wrong_tree_allows_a_press_that_is_forbidden_without_one(seed: int) -> None:
    told = random.Random(seed)
    calls = [click(SEARCH), click(DELETE), click(SIGN), click(FIELD), keys("space"), keys("enter"), keys("s")]
    for _ in range(100):
        tree, what, label = lie(told), told.choice(calls), told.choice(LABELS)
        clicked = told.choice((None, SEARCH.center, DELETE.center, FIELD.center))
        with_tree, without = scene(tree, clicked), scene(None, clicked)
        pressed, read = await once(what, with_tree), await once(what, without)
        clicked_last = {text for text, box in WRITTEN.items() if clicked is not None and box.contains(clicked)}
        sure = what.tool_name == "hotkey" and (await with_tree.focused_button(to_gesture(what, SHOT))).button
        # Other buttons are excluded only if the focused one was clicked last and its text equals its name.
        assert pressed >= read or (sure and sure.name in clicked_last and pressed >= clicked_last), (
            tree,
            what,
            clicked,
        )
        if not sure:
            assert await asks(what, with_tree, label) >= await asks(what, without, label)


@pytest.mark.parametrize(
    ("role", "wanted"), [("text field", "text field"), ("label", "toggle button"), ("button", "button")]
)
def test_a_field_in_an_expander_is_hit_itself(role: str, wanted: str) -> None:
    box = Box(20, 20, 90, 30)
    tree = tree_of(window(SCREEN), element("toggle button", "", SCREEN), element(role, "", box, parent=1))
    hit = pressed_at(tree, box.center)
    assert hit is not None
    assert hit.role == wanted


def test_a_field_in_a_combo_box_is_a_part_of_it() -> None:
    box = Box(20, 20, 90, 30)
    tree = tree_of(window(SCREEN), element("combo box", "To:", box), element("text field", "", box, parent=1))
    assert pressed_at(tree, box.center) == tree.elements[1]


def test_a_press_on_the_area_of_a_label_with_one_control_hits_that_control() -> None:
    area, icon, empty = Box(20, 60, 220, 40), Box(240, 60, 30, 40), Box(20, 200, 200, 40)
    parts = (
        window(SCREEN),
        element("label", "", Box(20, 60, 250, 40)),
        element("section", "", area, parent=1),
        element("label", "Room", Box(22, 62, 40, 16), parent=2),
        element("combo box", "Room", Box(20, 78, 1, 2), parent=2),
        element("section", "", icon, parent=1),
        element("section", "", empty),
        element("combo box", "Board", Box(20, 218, 1, 2), parent=6),
    )
    tree = tree_of(*parts)
    assert pressed_at(tree, Point(150, 85)) == tree.elements[4]
    assert pressed_at(tree, Point(30, 70)) == tree.elements[3], "a text in it is hit itself"
    assert pressed_at(tree, icon.center) == tree.elements[5], "an icon beside it is no part of the control"
    assert pressed_at(tree, empty.center) == tree.elements[6], "an area without a label may be anything"
    two = tree_of(*parts, element("button", "Clear", Box(200, 70, 20, 20), parent=2))
    assert pressed_at(two, Point(150, 85)) == two.elements[2], "the area has two controls"


@pytest.mark.parametrize(
    ("role", "control", "area", "hit"),
    [
        ("check box", Box(100, 100, 41, 40), Box(110, 110, 21, 20), True),
        ("text field", Box(100, 100, 500, 56), Box(100, 100, 500, 56), True),
        ("text field", Box(100, 100, 500, 56), Box(570, 116, 24, 24), False),
        ("check box", Box(100, 100, 41, 40), Box(20, 20, 400, 300), False),
    ],
    ids=["a switch", "a field", "an icon at the end of a field", "an area over a form"],
)
def test_an_empty_area_that_draws_the_control_beside_it_stands_for_it(
    role: str, control: Box, area: Box, hit: bool
) -> None:
    parts = (window(SCREEN), element("section", "", SCREEN), element(role, "Insured", control, parent=1))
    tree = tree_of(*parts, element("section", "", area, parent=1))
    at = area.center
    found = pressed_at(tree, at)
    assert found is not None
    assert found.role == (role if hit else "section")
    assert ("Insured" in names_at(tree, at)) is hit
    assert "Form" not in names_at(tree, at) if hit else True


def test_an_empty_area_over_two_controls_stands_for_none() -> None:
    box = Box(100, 100, 41, 40)
    parts = (
        window(SCREEN),
        element("section", "", SCREEN),
        *(element("check box", name, box, parent=1) for name in "AB"),
    )
    found = pressed_at(tree_of(*parts, element("section", "", box, parent=1)), box.center)
    assert found is not None
    assert found.role == "section"
