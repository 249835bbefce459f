"""Completing what GTK 4 reports: dialogs that show, and buttons that tell their text twice."""

from __future__ import annotations

import pytest

from holo_tasks.accessibility.gtk_4 import complete_gtk_4
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.protocol import SHOWING, VISIBLE


def node(role: str, name: str = "", parent: int = -1, states: int = VISIBLE) -> Node:
    return Node(name, role, name, states, parent=parent)


def shows(*nodes: Node) -> list[bool]:
    complete_gtk_4(nodes)
    return [bool(each.states & SHOWING) for each in nodes]


def test_a_visible_dialog_and_its_visible_elements_show():
    assert shows(node("dialog"), node("label", parent=0), node("label", parent=0, states=0)) == [True, True, False]


def test_a_hidden_dialog_and_a_window_that_does_not_show_stay_so():
    assert shows(node("dialog", states=0), node("label", parent=0)) == [False, False]
    assert shows(node("window"), node("dialog", parent=0)) == [False, False]


@pytest.mark.parametrize(
    ("role", "name", "label", "once"),
    [
        ("button", "Cancel Cancel", "Cancel", "Cancel"),
        ("button", "Save as Save as", "Save as", "Save as"),
        ("button", "Bora Bora", "Bora Bora", "Bora Bora"),
        ("button", "Cancel", "Cancel", "Cancel"),
        ("label", "Cancel Cancel", "Cancel", "Cancel Cancel"),
    ],
)
def test_the_text_of_a_button_is_taken_once(role, name, label, once):
    button = node(role, name)
    complete_gtk_4([button, node("label", label, 0)])
    assert button.name == once
