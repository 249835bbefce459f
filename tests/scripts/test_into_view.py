"""Targets out of view, covered targets, rows far down a list: which move brings them into view, and when none is made.

`test_into_view_on_programs` has the same with real programs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import NOWHERE, Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.element_search import AmbiguousTarget
from holo_tasks.scripts.into_view import MOST_LOOKS, MOST_PAGES, MOST_TURNS, MOST_WAITS, IntoView
from holo_tasks.scripts.misfit import Misfit, misfit_of
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.rules import find, follow
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.element_trees import element, tree_of, window

SIZE, PAGE = Size(800, 600), Box(0, 0, 800, 600)
ON = ("enabled", "sensitive")
VALUES = {"key": "L-7"}
STEPS = """
name: form
goals:
  g:
    params: {{key: text}}
    steps:
      - {step}
      - {{answer: done}}
"""
TICK = "{click: {role: check box, name: Approved}}"
OPEN = '{click: {role: link, name: "{key}"}}'


class Walked:
    """An `IntoView` of a playbook with one step before its answer."""

    def __init__(self, step: str) -> None:
        self.playbook = parse_playbook(STEPS.format(step=step))
        self.rules = self.playbook.rules_of("g")
        self.view = IntoView(self.rules, VALUES, ())

    def move(self, tree: ElementTree, *, late: bool = False, covered: str = "", picture: str = "") -> dict[str, Any]:
        """Return the next call, or an empty one. The picture contradicts the element named ``covered``."""
        sight = Sight((), SIZE, elements=tree, disagrees=lambda each, also: "hidden" if each.name == covered else "")
        misfit = misfit_of(self.rules, VALUES, (), sight)
        assert misfit is not None
        move = self.view.move(misfit, sight, late, picture)
        return {} if move is None else move["tool_call"]


def form(*more: Element, box: Box = NOWHERE) -> ElementTree:
    """Return a page with a heading above a check box that is at ``box``, by default below the lower edge."""
    return tree_of(
        window(PAGE),
        element("document", "Form", PAGE, *ON),
        element("heading", "Supplier", Box(20, 10, 300, 30), *ON, parent=1),
        element("text field", "Name", Box(20, 60, 200, 24), *ON, "editable", parent=1),
        element("check box", "Approved", box, *ON, parent=1),
        *more,
    )


def paged(first: int, *, pager: bool = True) -> ElementTree:
    """Return a page of a list in a browser, with three rows from a number on."""
    rows = [
        each
        for n in range(3)
        for each in (
            element("row", "", Box(0, 20 + 30 * n, 400, 28), *ON, parent=2),
            element("link", f"L-{first + n}", Box(0, 20 + 30 * n, 90, 28), *ON, parent=3 + 2 * n),
        )
    ]
    page = first // 10
    numbers = [
        element("label" if n == page else "link", str(n + 1), Box(20 + 40 * n, 200, 30, 20), *ON, parent=9)
        for n in range(12)
    ]
    return tree_of(
        window(PAGE),
        element("document", "Suppliers", PAGE, *ON),
        element("table", "", Box(0, 20, 400, 100), *ON, parent=1),
        *rows,
        element("panel", "", Box(0, 190, 700, 40), *ON, parent=1),
        *(numbers if pager else ()),
    )


def rows(first: int) -> ElementTree:
    """Return a native list whose program reports only the rows in view."""
    cells = [element("cell", f"L-{first + n}", Box(10, 20 + 28 * n, 300, 28), *ON, parent=2) for n in range(10)]
    return tree_of(
        window(PAGE),
        element("scroll pane", "", Box(10, 20, 300, 280), *ON),
        element("table", "", Box(10, 20, 300, 280), *ON, parent=1),
        *cells,
    )


def test_a_target_below_the_edge_is_scrolled_to() -> None:
    call = Walked(TICK).move(form())
    assert (call["tool_name"], call["direction"]) == ("scroll", "down")


def test_a_target_above_the_edge_is_scrolled_up_to() -> None:
    below = element("button", "Save", Box(20, 100, 90, 30), *ON, parent=1)
    tree = form(below)
    hidden = replace(
        tree,
        elements=tuple(replace(e, box=NOWHERE, states=frozenset(ON)) if e.id in (2, 3) else e for e in tree.elements),
    )
    assert Walked(TICK).move(hidden)["direction"] == "up"


def test_a_visible_target_needs_no_scrolling() -> None:
    assert Walked(TICK).move(form(box=Box(20, 100, 20, 20)), late=True) == {}


def test_a_target_under_a_footer_is_scrolled_to_and_one_under_nothing_is_not() -> None:
    footer = element("button", "Save", Box(0, 540, 800, 60), *ON, parent=1)
    box = Box(20, 560, 20, 20)
    call = Walked(TICK).move(form(footer, box=box), covered="Approved")
    assert (call["tool_name"], call["direction"]) == ("scroll", "down")
    assert call["scroll_size"] <= 2
    assert Walked(TICK).move(form(box=box), covered="Approved") == {}


def test_two_targets_out_of_view_are_ambiguous() -> None:
    assert Walked(TICK).move(form(element("check box", "Approved", NOWHERE, *ON, parent=1)), late=True) == {}


@pytest.mark.parametrize("role", ["menu", "combo box"])
def test_an_entry_of_a_closed_menu_is_not_scrolled_to(role: str) -> None:
    closed = element(role, "Kind", Box(20, 300, 100, 20) if role == "combo box" else NOWHERE, *ON, parent=1)
    tree = form(closed, element("menu item", "Paid", NOWHERE, *ON, parent=5), box=Box(20, 100, 20, 20))
    assert Walked("{click: {role: menu item, name: Paid}}").move(tree, late=True) == {}


def test_an_element_outside_of_all_scrolled_parts_is_not_scrolled_to() -> None:
    tree = tree_of(
        window(PAGE), element("panel", "", PAGE, *ON), element("check box", "Approved", NOWHERE, *ON, parent=1)
    )
    assert Walked(TICK).move(tree, late=True) == {}


def test_the_wheel_is_not_turned_over_controls_whose_value_it_changes() -> None:
    spins = [element("spin button", f"S{n}", Box(0, 100 * n, 700, 90), *ON, parent=1) for n in range(1, 6)]
    call = Walked(TICK).move(form(*spins))
    assert call["x"] * 800 / 1000 > 700
    assert call["scroll_size"] <= 4  # no hidden one may come below the pointer
    over_all = element("combo box", "All", Box(0, 100, 800, 90), *ON, parent=1)
    assert Walked(TICK).move(form(over_all)) == {}


def test_scrolling_turns_back_at_the_end_and_then_stops() -> None:
    walked, tree = Walked(TICK), form()
    moves = [walked.move(tree).get("direction") for _ in range(4)]
    assert moves == ["down", "up", None, None]
    assert "did not bring it into view" in walked.view.told


def test_a_row_far_down_a_list_is_searched_up_and_down_only_when_the_playbook_would_give_up() -> None:
    walked = Walked('{click: {role: cell, name: "{key}"}}')
    assert walked.move(rows(20)) == {}
    assert walked.move(rows(20), late=True)["direction"] == "up"
    assert walked.move(rows(20))["direction"] == "down"
    assert walked.move(rows(28))["direction"] == "down"
    assert walked.move(rows(28)) == {}
    assert walked.view.told == "the list was searched for ‘{key} cell’"


def test_turns_along_a_list_grow_while_most_rows_stay_in_view() -> None:
    walked = Walked('{click: {role: cell, name: "{key}"}}')
    steps = [walked.move(rows(first), late=True) for first in (20, 20, 22, 26, 35)]
    assert [each["scroll_size"] for each in steps] == [1, 1, 2, 4, 2]


def test_a_list_whose_picture_changed_is_looked_at_again_until_its_rows_are_reported() -> None:
    walked = Walked('{click: {role: cell, name: "{key}"}}')
    assert walked.move(rows(20), late=True)["direction"] == "up"
    assert walked.move(rows(20))["direction"] == "down"
    tools = [walked.move(rows(20), picture="new")["tool_name"] for _ in range(2)]
    assert [*tools, walked.move(rows(22), picture="new")["tool_name"]] == ["wait", "wait", "scroll"]


def test_a_list_whose_picture_changes_by_itself_is_looked_at_a_few_times_in_all() -> None:
    walked, tools = Walked(OPEN), list[str]()
    for n in range(5 * MOST_LOOKS):
        move = walked.move(rows(20), late=True, picture=str(n))
        if not move:
            break
        tools.append(move["tool_name"])
    assert (tools.count("wait"), tools.count("scroll")) == (MOST_LOOKS, 2), "up and down, and no row moved"


def test_a_move_that_was_withheld_does_not_count_as_the_end_of_the_list() -> None:
    walked = Walked('{click: {role: cell, name: "{key}"}}')
    for direction in ("up", "down", "down"):
        assert walked.move(rows(20), late=True)["direction"] == direction
        if direction == "down":
            walked.view.not_moved()
    pager = Walked(OPEN)
    assert pager.move(paged(10), late=True)["tool_name"] == "click"
    pager.view.not_moved()
    assert pager.move(paged(10))["tool_name"] == "click"


def test_a_long_list_is_searched_for_a_bounded_time() -> None:
    walked = Walked('{click: {role: cell, name: "{key}"}}')
    moves = [walked.move(rows(100 + 10 * n), late=True) for n in range(MOST_TURNS + 10)]
    assert sum(map(bool, moves)) == MOST_TURNS
    assert walked.view.told == "the list was searched for ‘{key} cell’, and the list goes on"


def test_the_pages_of_a_list_are_looked_through_and_counted() -> None:
    walked = Walked(OPEN)
    assert walked.move(paged(10)) == {}
    assert walked.move(paged(10), late=True)["element"] == "3 link"
    assert walked.move(paged(10))["tool_name"] == "wait"
    assert walked.move(paged(20))["element"] == "4 link"
    presses = [walked.move(paged(10 * n)) for n in range(3, 12)]
    pressed = [each for each in presses if each.get("tool_name") == "click"]
    assert 2 + len(pressed) == MOST_PAGES - 1
    assert walked.view.told == f"{MOST_PAGES} pages of the list were searched for ‘{{key}} link’, and the list goes on"


def test_a_pager_that_changes_nothing_is_pressed_once() -> None:
    walked = Walked(OPEN)
    tools = [walked.move(paged(10), late=True).get("tool_name") for _ in range(MOST_WAITS + 3)]
    assert tools == ["click", *["wait"] * MOST_WAITS, None, None]


def test_a_list_without_a_pager_is_scrolled_to_its_end_once() -> None:
    walked = Walked(OPEN)
    assert walked.move(paged(10, pager=False), late=True)["tool_name"] == "scroll"
    assert walked.move(paged(10, pager=False)) == {}


def test_a_step_without_a_key_turns_no_page() -> None:
    assert Walked("{click: {role: link, name: Details}}").move(paged(10), late=True) == {}


def test_a_key_in_two_rows_turns_no_page() -> None:
    def twice(box: Box) -> ElementTree:
        tree, states = paged(10), frozenset({*ON, "showing"} if box.area else ON)
        named = [
            replace(e, name="L-7", box=box, states=states) if e.name in ("L-10", "L-11") else e for e in tree.elements
        ]
        return replace(tree, elements=tuple(named))

    walked = Walked(OPEN)
    assert walked.move(twice(Box(0, 20, 90, 28)), late=True) == {}
    assert Walked(OPEN).move(twice(NOWHERE), late=True) == {}
    assert Walked(OPEN).move(paged(10), late=True)["tool_name"] == "click"


def test_conditions_that_were_seen_still_hold_after_scrolling_on_the_same_page_only() -> None:
    walked = Walked("{before: {role: heading, name: Supplier}, click: {role: check box, name: Approved}}")
    assert walked.move(form())["direction"] == "down"
    rule, tree = walked.rules[1], form(box=Box(20, 100, 20, 20))
    heading = tree.elements[2]
    scrolled = [replace(each, box=NOWHERE) if each == heading else each for each in tree.elements]
    renamed = [replace(each, name="Order") if each.role == "document" else each for each in scrolled]

    def follows(elements: list[Element]) -> str:
        sight = Sight((), SIZE, elements=ElementTree(tuple(elements)))
        return follow(walked.playbook, "g", VALUES, (), sight, seen=walked.view.seen_on(sight)).rule

    assert follows(scrolled) == rule.id
    assert follows(renamed) == ""
    walked.view.forget()
    assert follows(scrolled) == ""


def test_a_key_in_a_row_out_of_view_makes_its_row_in_view_ambiguous() -> None:
    def listed(key: str) -> Sight:
        row = element("row", "", Box(0, 20, 400, 28), *ON, parent=2)
        link = element("link", "L-7", Box(0, 20, 90, 28), *ON, parent=3)
        hidden = element("row", "", NOWHERE, *ON, parent=2), element("link", key, NOWHERE, *ON, parent=5)
        page = element("document", "Suppliers", PAGE, *ON), element("table", "", PAGE, *ON, parent=1)
        return Sight((), SIZE, elements=tree_of(window(PAGE), *page, row, link, *hidden))

    target = Target(role="link", name="L-7")
    assert find(target, {}, listed("L-8")) == Box(0, 20, 90, 28)
    with pytest.raises(AmbiguousTarget, match="Another row of the list"):
        find(target, {}, listed("L-7"))


TYPE = "{write: late, focus: {role: text field, name: Memo}}"


@pytest.mark.parametrize(
    ("step", "focused", "clicks"),
    [
        (TYPE, "Color", True),  # a new field before it took the Tab
        (TYPE, "Memo", False),
        (TYPE, "", False),  # the program does not report the keyboard
        ("{write: late, focus: {role: text field, name: Remark}}", "Color", False),  # it is not there
        ("{hotkey: [enter], focus: {role: text field, name: Memo}}", "Color", False),
        ("{write: late, focus: {role: button, name: Approved}}", "Color", False),
        ("{before: [PAID], write: late, focus: {role: text field, name: Memo}}", "Color", False),  # another screen
    ],
)
def test_a_text_gets_the_keyboard_by_one_click_into_its_field(step: str, focused: str, clicks: bool) -> None:
    fields = [
        element("text field", name, Box(20, top, 200, 24), *ON, *(["focused"] if name == focused else []), parent=1)
        for name, top in (("Color", 200), ("Memo", 240))
    ]
    walked, tree = Walked(step), form(*fields, element("button", "Approved", Box(20, 300, 80, 24), *ON, parent=1))
    playbook_decides = follow(walked.playbook, "g", VALUES, (), Sight((), SIZE, elements=tree)).action is not None
    move = walked.move(tree) if not playbook_decides else {}
    assert (move.get("tool_name") == "click") is clicks, move
    if clicks:
        assert (move["x"] * 800 // 1000, move["y"] * 600 // 1000) == (120, 252)
        assert walked.move(tree) == {}, "a second click would not help"


@pytest.mark.parametrize(
    ("shown", "searches"),
    [
        ("{key}*", True),
        ("Order {key}", True),
        ("Order {key} is stored", False),
        ("The order {key} was changed.", False),
    ],
)
def test_a_list_is_looked_through_for_the_row_of_an_answer_but_not_for_a_message(shown: str, searches: bool) -> None:
    playbook = parse_playbook(
        f"name: n\ngoals: {{g: {{params: {{key: text}}, steps: [{{before: [FOUND, '{shown}'], answer: done}}]}}}}"
    )
    rules, found = playbook.rules_of("g"), Line("FOUND", Box(300, 500, 90, 20))
    sight = Sight((found,), SIZE, elements=rows(20), disagrees=lambda each, also: "")
    misfit = misfit_of(rules, VALUES, (), sight)
    assert misfit is not None
    move = IntoView(rules, VALUES, ()).move(misfit, sight, True)
    assert (move is not None) is searches


def test_no_click_goes_back_into_a_field_whose_text_was_typed() -> None:
    field = element("text field", "Memo", Box(20, 200, 200, 24), *ON, parent=1)
    other = element("text field", "Color", Box(20, 240, 200, 24), *ON, "focused", parent=1)
    tree, walked = form(field, other), Walked("{write: late, focus: {role: text field, name: Memo}, after: Stored}")
    typing = next(rule for rule in walked.rules if rule.do[0].write is not None)
    done = Misfit(typing, 0, "effect", "the screen does not show ‘Stored’ after it")
    sight = Sight((), SIZE, elements=tree, disagrees=lambda each, also: "")
    assert walked.view.move(done, sight, True) is None
    assert walked.view.move(replace(done, cause="screen"), sight, True) is not None


def test_the_pointer_moves_away_once_if_something_unreported_covers_the_target() -> None:
    """A tooltip at the pointer is in no tree. Before the playbook would hand over, its program may still be drawing."""
    tree, walked = form(box=Box(20, 100, 100, 20)), Walked(TICK)
    assert walked.move(tree, covered="Approved") == {}
    move = walked.move(tree, late=True, covered="Approved")
    assert (move["tool_name"], move["x"] * 800 // 1000) == ("move_to", 799)
    assert walked.move(tree, late=True, covered="Approved") == {}


def test_the_pointer_stays_if_the_target_is_missing() -> None:
    assert Walked("{click: {role: check box, name: Refused}}").move(form(), late=True) == {}
