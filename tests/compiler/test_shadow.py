"""A playbook in shadow mode: when its step equals the model's, and when it differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holo_tasks.compiler import shadow
from holo_tasks.core.screen.geometry import Point
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.vision.screen_text import Sight
from tests.support.read_runs import Did, click, recording, screen, sights, write

TEXT = """
name: notes
goals:
  note:
    params: {order: text}
    rules:
      - id: answer
        screen: [NOTE SAVED, "{order}"]
        read: {receipt: {right_of: Receipt, as: int}}
        do:
          - answer: {receipt: "{receipt}"}
            thought: Read the receipt.
      - id: keep
        screen: ORDER RECORD
        do:
          - scroll: {at: Lines, direction: down}
            thought: Scroll down.
          - hotkey: [ctrl, s]
            thought: Save it.
      - id: find
        screen: ORDER SEARCH
        do:
          - click: {field: Order number}
            thought: Go to the number.
          - write: {text: "{order}", press_enter: true}
            thought: Type the number.
"""
SEARCH = screen((20, 50, "ORDER SEARCH"), (20, 120, "Order number"), (20, 180, "Branch"),
                fields=[(200, 118, ""), (200, 178, "")])  # fmt: skip
RECORD = screen((20, 50, "ORDER RECORD"), (20, 120, "Lines"), (20, 300, "Totals"))
SAVED = screen((20, 50, "NOTE SAVED"), (20, 120, "AB-1207"), (20, 200, "Receipt"), (200, 200, "5012"))
GO, TYPED = click(SEARCH, "Order number"), write(SEARCH, "AB-1207", press_enter=True)
DOWN = Did(RECORD, "scroll", {"direction": "down", "scroll_size": 3}, Point(40, 128))
KEYS = Did(RECORD, "hotkey", {"keys": ["ctrl", "s"]})
WAY = [GO, TYPED, DOWN, KEYS]


def differs(did: Sequence[Did] = WAY, answer: Any = None, text: str = TEXT, order: Any = "AB-1207") -> str:
    """Return the difference between a playbook's steps and these steps of a model."""
    shown: list[Sight] = [SEARCH, RECORD, SAVED]
    found = recording("model", did, SAVED, {"receipt": 5012} if answer is None else answer)
    with pytest.MonkeyPatch.context() as patch:
        read = {one.sha256: sight for one, sight in sights(*shown).items()}
        patch.setattr(shadow, "read", lambda trace, recordings, reader: read)
        nobody: Any = None
        return shadow.difference(parse_playbook(text), "note", {"order": order}, nobody, found, nobody)


@pytest.mark.parametrize(
    "did",
    [
        WAY,
        [Did(SEARCH, "click", {"button": "left"}, Point(415, 140)), *WAY[1:]],
        [GO, write(SEARCH, "AB-1207", press_enter=True, overwrite=False), *WAY[2:]],
        [*WAY[:2], Did(RECORD, "scroll", {"direction": "down", "scroll_size": 9}, Point(22, 121)), KEYS],
        [*WAY[:3], Did(RECORD, "hotkey", {"keys": ["Ctrl", "s"]})],
    ],
    ids=["identical", "elsewhere in the field", "into an empty field", "further", "a key's name in capitals"],
)
def test_equal_actions_on_the_same_target_agree(did: list[Did]) -> None:
    assert differs(did) == ""


@pytest.mark.parametrize(
    ("place", "other", "said"),
    [
        (0, click(SEARCH, "Branch"), "not repeat step 1 (click)"),
        (0, Did(SEARCH, "double_click", {}, GO.at), "not repeat step 1 (double_click)"),
        (0, Did(SEARCH, "click", {"button": "right"}, GO.at), "not repeat step 1 (click)"),
        (1, write(SEARCH, "AB-1208", press_enter=True), "not repeat step 2 (write)"),
        (1, write(SEARCH, "AB-1207"), "not repeat step 2 (write)"),
        (2, Did(RECORD, "scroll", {"direction": "up", "scroll_size": 3}, DOWN.at), "not repeat step 3 (scroll)"),
        (2, Did(RECORD, "scroll", {"direction": "down"}, Point(40, 308)), "not repeat step 3 (scroll)"),
        (3, Did(RECORD, "hotkey", {"keys": ["ctrl", "d"]}), "not repeat step 4 (hotkey)"),
        (3, Did(RECORD, "hotkey", {"keys": ["ctrl", "S"]}), "not repeat step 4 (hotkey)"),
        (3, Did(RECORD, "hotkey", {"keys": ["ctrl", "s"], "repeat_count": 2}), "not repeat step 4 (hotkey)"),
        (3, click(RECORD, "Totals"), "not repeat step 4 (click)"),
    ],
)
def test_another_action_or_target_differs(place: int, other: Did, said: str) -> None:
    assert said in differs([*WAY[:place], other, *WAY[place + 1 :]])


def test_equal_answers_agree() -> None:
    assert differs(answer='{ "receipt" : 5012 }') == ""
    assert "it reads another answer than the model gave" in differs(answer={"receipt": 5013})
    assert "it reads another answer" in differs(answer={"receipt": "5012"}), "a text is not a number"
    asked = TEXT.replace('- answer: {receipt: "{receipt}"}', "- ask_model: receipt")
    assert differs(answer={"receipt": 7}, text=asked) == "", "values left to the model are not compared"


def test_a_playbook_without_an_end_or_without_its_values_differs() -> None:
    waits = TEXT.replace("[NOTE SAVED,", "[ALL SAVED,")
    assert "would not answer where runs/model was answered" in differs(text=waits)
    assert "order: " in differs(order=None)
    assert "not repeat step 4" in differs(text=TEXT.replace("hotkey: [ctrl, s]", "hotkey: [ctrl, d]"))
