"""The field of an open list, and the text of an editor with paragraphs, by trees as Chromium reports them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.elements.elements import ACTIVE, Application, Element
from holo_tasks.core.elements.open_lists import field_of_list, keyboard_field, offers_list
from holo_tasks.core.elements.typed_field import OBJECT, field_now, text_in
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.typed_text import compare, compare_choice
from tests.support.element_trees import PID, element, focused, tree_of, window

WHOLE = Box(0, 0, 900, 600)
SEARCH, LIST = Box(161, 95, 190, 25), Box(157, 124, 198, 145)
OPTION = focused(element("list item", "Austria", Box(157, 124, 198, 29), parent=2))
COMPLETES = ("editable", "supports autocompletion")


def form(*fields: Element, top: Element | None = None) -> list[Element]:
    return [
        top or window(WHOLE),
        element("document", "Form", WHOLE),
        element("list", "", LIST, parent=1),
        OPTION,
        *fields,
    ]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ([element("text field", "", SEARCH, *COMPLETES, parent=1)], 4),  # above the list, as in Select2
        ([element("text field", "", SEARCH, "editable", parent=1)], -1),
        ([element("text field", "", SEARCH.moved(0, -60), *COMPLETES, parent=1)], -1),
        ([element("text field", "", Box(20, 95, 600, 25), *COMPLETES, parent=1)], -1),
        ([element("text field", "", SEARCH, *COMPLETES, parent=1)] * 2, -1),
        (
            [
                element("combo box", "", Box(500, 95, 190, 25), "expanded", parent=1),
                element("text field", "", Box(500, 95, 9, 25), "editable", parent=4),
            ],
            5,
        ),
        ([element("combo box", "", Box(500, 95, 190, 25), "editable", "expanded", parent=1)], 4),
    ],
)
def test_the_field_of_a_marked_option(fields: list[Element], found: int) -> None:
    tree = tree_of(*form(*fields))
    field = field_of_list(tree, [tree.elements[3]])
    assert (field.id if field else -1) == found
    assert keyboard_field(tree) == (field or tree.elements[3])
    assert field_of_list(tree, [*tree.elements[3:4], tree.elements[1]]) is None


@pytest.mark.parametrize(
    ("title", "has_button", "is_field"), [("", False, True), ("Choose", False, False), ("", True, False)]
)
def test_a_field_keeps_the_keyboard_beside_a_window_with_its_list_only(
    title: str, has_button: bool, is_field: bool
) -> None:
    """A dialog with a list takes the keyboard from the field behind it."""
    main = element("window", "Page", WHOLE)
    field = focused(element("combo box", "Fruit", SEARCH, *COMPLETES))
    tree = tree_of(main, field, element("window", title, LIST, ACTIVE), OPTION, element("label", "", LIST, parent=2))
    elements = list(tree.elements)
    elements[2] = element("window", title, LIST, ACTIVE, parent=-1)
    if has_button:
        elements.append(element("button", "OK", LIST, "focusable", parent=2))
    tree = tree_of(*elements)
    assert (keyboard_field(tree) == tree.elements[1]) is is_field


@pytest.mark.parametrize("own_window", [True, False])
def test_an_open_menu_beside_a_field_has_the_keyboard(own_window: bool) -> None:
    """Its keys are the letters of its items, so a text typed there would choose one."""
    menu = Box(100, 118, 198, 145)
    field = element("text field", "Fruit", Box(100, 100, 190, 25), *COMPLETES)
    elements = [window(WHOLE), focused(field) if own_window else field]
    if own_window:
        elements = [element("window", "Page", WHOLE), *elements[1:], element("window", "", menu, ACTIVE)]
    elements += [element("menu", "", menu, parent=len(elements) - 1 if own_window else 0)]
    elements += [focused(element("menu item", "Cut", menu, parent=len(elements) - 1))]
    tree = tree_of(*elements)
    if own_window:
        tree = replace(
            tree, elements=tuple(replace(each, parent=-1) if each.id == 2 else each for each in tree.elements)
        )
    assert keyboard_field(tree) == tree.elements[-1]


@pytest.mark.parametrize(
    ("role", "states", "in_chromium", "in_firefox"),
    [
        ("combo box", (), True, True),
        ("text field", COMPLETES, True, False),  # Firefox remembers the texts of each field
        ("text field", (*COMPLETES, "has popup"), True, True),
        ("text field", ("editable",), False, False),
    ],
)
def test_only_a_field_that_may_offer_a_list_is_waited_for(
    role: str, states: tuple[str, ...], in_chromium: bool, in_firefox: bool
) -> None:
    tree = tree_of(window(WHOLE), element(role, "Town", SEARCH, *states))
    for toolkit, offers in (("Chromium", in_chromium), ("Gecko", in_firefox)):
        told = replace(tree, applications=(Application("form", PID, toolkit, "cache"),))
        assert offers_list(told, tree.elements[1]) is offers
    assert not offers_list(tree, None)


@pytest.mark.parametrize(("toolkit", "found"), [("Chromium", 2), ("Gecko", 4)])
def test_a_list_of_firefox_below_a_plain_field_has_the_keyboard_itself(toolkit: str, found: int) -> None:
    """Chromium reports the state for list fields only."""
    elements = [*form()[:2], element("text field", "Filter", SEARCH, *COMPLETES), element("list", "Names", LIST)]
    tree = tree_of(*elements, replace(OPTION, parent=3))
    told = replace(tree, applications=(Application("form", PID, toolkit, "cache"),))
    assert keyboard_field(told) == told.elements[found]


@pytest.mark.parametrize(
    ("typed", "held", "kind"),
    [
        ("Den", "Denmark", "completed"),
        ("Dominica", "Dominican Republic", "completed"),  # the list may lack the typed entry
        ("denmark", "Denmark", "exact"),
        ("Zypern", "Austria", "lost"),
        ("Dominica", "Denmark", "another"),
        ("bb", "Belgium", "unread"),  # the second entry with that letter
        ("Den", OBJECT, "unread"),
    ],
)
def test_a_text_typed_into_a_list(typed: str, held: str, kind: str) -> None:
    assert compare_choice(Write(typed), "Austria", held) == kind


@pytest.mark.parametrize(("states", "held"), [((), "Belgium"), (("expanded",), "")])
def test_a_closed_list_has_an_entry_and_an_open_one_may_get_another(states: tuple[str, ...], held: str) -> None:
    was = tree_of(window(WHOLE), focused(element("combo box", "Land", SEARCH, value="Austria")))
    now = tree_of(window(WHOLE), focused(element("combo box", "Land", SEARCH, *states, value="Belgium")))
    found = field_now(was, Write("Belgium"), now)
    assert (found.element.value if found and found.is_choice else "") == held


def paragraph(text: str, *, parent: int = 1, role: str = "paragraph", box: Box = SEARCH) -> Element:
    return element(role, "", box, "editable", parent=parent, value=text)


@pytest.mark.parametrize(
    ("value", "parts", "text"),
    [
        (OBJECT, [paragraph("One"), paragraph("Two")], "One\n\nTwo"),  # the number of paragraphs is late
        (OBJECT * 2, [paragraph("One"), paragraph("")], "One\n\n\n"),
        (
            OBJECT * 2,
            [paragraph("One"), paragraph(""), paragraph("", parent=3, role="label", box=Box(0, 0, 0, 0))],
            "One",
        ),
        (OBJECT * 2, [paragraph("One"), paragraph("", box=Box(0, 0, 0, 0))], OBJECT * 2),
        (
            OBJECT * 2,
            [paragraph("One"), paragraph("", role="image"), element("label", "a", SEARCH, parent=3)],
            OBJECT * 2,
        ),
        (f"See {OBJECT}.", [paragraph("this", role="link"), paragraph("See", role="label")], "See this."),
        (f"See {OBJECT}.", [paragraph("this"), paragraph("that")], f"See {OBJECT}."),
    ],
)
def test_the_text_of_an_editor_has_those_of_its_parts(value: str, parts: list[Element], text: str) -> None:
    tree = tree_of(window(WHOLE), paragraph(value, parent=0, role="text field"), *parts)
    assert text_in(tree, tree.elements[1]).strip("\n") == text.strip("\n")


def test_the_old_text_of_an_editor_need_not_be_known_to_be_overwritten() -> None:
    write = Write("New", overwrite=True)
    assert compare(write, OBJECT * 2, "New") == "exact"
    assert compare(write, OBJECT * 2, "Now") == "corrected"
    assert compare(Write("New"), OBJECT * 2, "New") == "unread"
