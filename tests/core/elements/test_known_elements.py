"""Masked texts are removed from accessibility trees, whatever the shape of the tree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest

from holo_tasks.core.elements.elements import NOWHERE, Application, ElementTree
from holo_tasks.core.elements.known_elements import redacted_element, redacted_tree
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.run.rules.redactors import text_filter
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.scrubbing import secrets_registered
from tests.support.element_trees import element, tree_of, window

FORM = tree_of(
    window(Box(0, 0, 400, 300), "Anna's form"),
    element("table", "Rows of Anna", Box(0, 50, 400, 200)),
    element("row", "Anna 12.50", Box(0, 50, 400, 20), parent=1),
    element("cell", "Anna", Box(0, 50, 100, 20), parent=2, value="Anna"),
    element("label", "Anna, in full", Box(5, 52, 40, 16), parent=3),
    element("cell", "12.50", Box(100, 50, 100, 20), parent=2),
    element("row", "Anna, scrolled away", NOWHERE, parent=1),
    element("cell", "Anna, out of sight", NOWHERE, parent=6),
    element("button", "Save", Box(0, 270, 80, 20)),
    element("menu bar", "", Box(0, 20, 400, 20)),
    element("menu", "File", Box(0, 20, 40, 20), parent=9),
    element("menu item", "Open", NOWHERE, parent=10),
    replace(element("password field", "Pin", Box(200, 270, 80, 20), value="1234"), protected=True),
    element("label", "1234", Box(201, 271, 20, 10), parent=12),
)
ON_ANNA = [Mask("name", Box(20, 55, 30, 10))]


def texts(tree: ElementTree) -> str:
    return json.dumps([asdict(replace(each, states=frozenset())) for each in tree.elements], default=list)


def test_an_element_that_touches_a_mask_loses_its_texts_and_those_inside() -> None:
    told = redacted_tree(FORM, ON_ANNA)
    assert "Anna" not in texts(told)
    assert [each.name for each in told.elements if each.name] == ["12.50", "Save", "File", "Open", "Pin"]
    assert [(each.role, each.box, each.states) for each in told.elements] == [
        (each.role, each.box, each.states) for each in FORM.elements
    ]


def test_children_of_a_masked_control_lose_their_texts() -> None:
    told = redacted_tree(FORM, [Mask("name", Box(80, 55, 10, 10))])
    assert "in full" not in texts(told)
    assert "12.50" in texts(told)


def test_a_protected_field_keeps_only_its_name() -> None:
    told = redacted_tree(FORM, [])
    assert (told.elements[12].name, told.elements[12].value) == ("Pin", "")
    assert "1234" not in texts(told)
    assert told.elements[3].value == "Anna"


def test_elements_off_the_screen_lose_their_texts_if_masks_were_searched() -> None:
    told = redacted_tree(FORM, [], unseen=False)
    assert "scrolled" not in texts(told)
    assert "out of sight" not in texts(told)
    assert "Open" not in texts(told)
    assert told.elements[8].name == "Save"


def test_a_window_off_the_screen_keeps_its_title_only_without_masks() -> None:
    tree = tree_of(window(NOWHERE, "Anna's letters"), element("button", "Answer Anna", NOWHERE))
    assert "Anna" in texts(redacted_tree(tree, []))
    assert "Anna" not in texts(redacted_tree(tree, ON_ANNA))


def test_the_title_of_a_program_without_a_tree_is_removed_if_there_are_masks() -> None:
    silent = Application("Anna's letters", 9, "", "none", note="it tells nothing")
    tree = ElementTree((), (silent,), complete=False, why_not="Anna's letters: it tells nothing.")
    assert redacted_tree(tree, []) == tree
    told = redacted_tree(tree, ON_ANNA)
    assert "Anna" not in f"{told.applications} {told.why_not}"
    assert told.why_not


@pytest.mark.parametrize("masks", [[], ON_ANNA, [Mask("window", Box(0, 0, 400, 300))]])
@pytest.mark.parametrize("unseen", [True, False])
def test_a_single_element_is_redacted_as_in_the_whole_tree(masks: Sequence[Mask], unseen: bool) -> None:
    told = redacted_tree(FORM, masks, unseen=unseen)
    assert [redacted_element(FORM, each, masks, unseen=unseen) for each in FORM.elements] == list(told.elements)


def test_secret_values_are_removed_from_names() -> None:
    tree = tree_of(window(Box(0, 0, 9, 9), "Signed in with hunter2-hunter2"))
    with secrets_registered(Scrubber([Secret("pin", "hunter2-hunter2")])):
        told = redacted_tree(tree, [], text_filter(None, {"pin": "hunter2-hunter2"}))
    assert told.elements[0].name == "Signed in with {{secret:pin}}"


@pytest.mark.parametrize("name", ["Pay to DE89 3704 0044 0532 0130 00", "To anna@example.org", "Ticket AB-1234"])
def test_texts_that_would_be_masked_if_read_are_removed(name: str) -> None:
    tell = text_filter(Redaction.read({"patterns": {"ticket": "AB-[0-9]+"}}))
    tree = tree_of(window(Box(0, 0, 99, 99)), element("button", name, Box(5, 5, 20, 20), value=name))
    told = redacted_tree(tree, [], tell, unseen=False).elements[1]
    assert (told.name, told.value, told.role) == ("", "", "button")
    assert tell("Save") == "Save"
