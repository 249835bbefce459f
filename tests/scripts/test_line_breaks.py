"""A value's line break or Tab acts as a key in a field of one line, so a playbook does not type it there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.rules import Decision, follow
from tests.support.read_runs import screen

TEXT = """
name: notes
goals:
  store:
    params: {{note: text}}
    steps:
      - write: {write}
      - answer: done
"""


def typed(note: str, *states: str, write: str = "{text: '{note}'}", role: str = "text field") -> Decision:
    """Return the decision on a screen where a field with these states has the keyboard."""
    box = Box(0, 0, 400, 300)
    field = Element(1, role, "Note", frozenset({SHOWING, "focused", *states}), box, 0, "notes", 1)
    window = Element(0, "window", "Notes", frozenset({SHOWING, "active"}), box, -1, "notes", 1)
    sight = replace(screen((20, 350, "Note")), elements=ElementTree((window, field), (), complete=True))
    return follow(parse_playbook(TEXT.format(write=write)), "store", {"note": note}, [], sight)


@pytest.mark.parametrize("note", ["one\ntwo", "AB-1\n", "one\rtwo", "one\ttwo"])
def test_a_break_is_not_typed_into_a_field_of_one_line(note: str) -> None:
    assert typed(note, "single line").action is None


@pytest.mark.parametrize("role", ["terminal", "cell"])
def test_a_line_break_is_not_typed_into_a_terminal_or_a_cell(role: str) -> None:
    assert typed("one\ntwo", "multi line", role=role).action is None


def test_a_line_break_is_not_typed_where_no_field_is_reported() -> None:
    sight = screen((20, 20, "Note"))
    playbook = parse_playbook(TEXT.format(write="{text: '{note}'}"))
    assert follow(playbook, "store", {"note": "one\ntwo"}, [], sight).action is None


def test_the_question_names_the_value() -> None:
    from holo_tasks.scripts.misfit import misfit_of

    playbook = parse_playbook(TEXT.format(write="{text: '{note}'}"))
    misfit = misfit_of(playbook.rules_of("store"), {"note": "one\ntwo"}, [], screen((20, 20, "Note")))
    assert misfit is not None
    assert "‘note’ has a line break" in misfit.why


def test_a_line_break_is_typed_into_a_field_of_several_lines() -> None:
    assert typed("one\ntwo", "multi line").action is not None


def test_a_text_without_a_break_is_typed_anywhere() -> None:
    assert typed("one two", "single line").action is not None


def test_a_playbook_may_allow_line_breaks_and_write_a_tab_itself() -> None:
    assert typed("one\ntwo", "single line", write="{text: '{note}', lines: true}").action is not None
    assert typed("one", "single line", write='{text: "{note}\\t"}').action is not None
