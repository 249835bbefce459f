"""The areas of a screen that name its item. They must be unchanged when something is pressed."""

from __future__ import annotations

from dataclasses import replace

from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.item_boxes import item_boxes
from holo_tasks.scripts.playbook import Rule
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.element_trees import element, tree_of, window

SIZE = Size(640, 400)
TITLE, NUMBER, OTHER = Box(20, 20, 200, 20), Box(200, 120, 80, 20), Box(200, 160, 80, 20)
SIGHT = Sight((Line("ORDER DETAILS", TITLE), Line("AB-1207", NUMBER), Line("AB-1208", OTHER)), SIZE)
VALUES = {"order": "AB-1207"}


def rule(*screen: object) -> Rule:
    return Rule.model_validate({"id": "one", "screen": [*screen], "do": [{"hotkey": ["f2"], "thought": "Press."}]})


def boxes(one: Rule, values: dict[str, str], sight: Sight) -> tuple[Box, ...]:
    return item_boxes(one, one.do[0], values, sight)


def test_the_areas_are_where_the_items_values_are_read() -> None:
    assert boxes(rule("ORDER DETAILS", "{order}"), VALUES, SIGHT) == (NUMBER,)
    assert boxes(rule("ORDER DETAILS"), VALUES, SIGHT) == ()
    twice = replace(SIGHT, lines=(*SIGHT.lines, Line("Order AB-1207", Box(20, 200, 200, 20))))
    assert boxes(rule("*{order}*"), VALUES, twice) == (NUMBER, Box(20, 200, 200, 20))


def test_the_areas_of_reported_elements_need_no_ocr() -> None:
    told = element("label", "AB-1207", NUMBER)
    page = element("document", "AB-1207", Box(0, 0, 640, 400))
    field = element("text field", "Order", OTHER, value="AB-1207")
    sight = Sight((), SIZE, elements=tree_of(window(Box.whole(SIZE)), told, page, field), reported=lambda label: True)
    wanted = rule({"role": "label", "name": "{order}", "text": "{order}"})
    assert boxes(wanted, VALUES, sight) == (NUMBER, OTHER)  # not the area of the whole page


def test_only_the_visible_version_of_a_screen_counts() -> None:
    two = rule("INVOICE", "{order}").model_copy(update={"or_screen": (("ORDER DETAILS", "*{order}"),)})
    assert boxes(two, VALUES, SIGHT) == (NUMBER,)
    assert boxes(rule("INVOICE", "{order}"), VALUES, SIGHT) == ()


def test_the_key_of_the_row_of_a_target_counts() -> None:
    """A list may be sorted anew when the pointer arrives, and the key is in another row then."""
    pay = {"role": "button", "name": "Pay", "row": "{order}"}
    one = Rule.model_validate({"id": "one", "do": [{"click": pay, "thought": "Pay."}]})
    assert boxes(one, VALUES, SIGHT) == (NUMBER,)
    assert boxes(one, {"order": "AB-9999"}, SIGHT) == ()
