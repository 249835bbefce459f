"""Runs with masked pictures: no masked content and no private text enters a playbook or its picture files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.cli.compile import compile_traces
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point
from tests.support.recorded_runs import Act, Page, page, record

LOOK = "Look up the account and say which state it is in."
HEADING = (20, 50, "ACCOUNT SEARCH")


def search(*texts: tuple[int, int, str], number: str = "", **how: Any) -> Page:
    shown = page(HEADING, (20, 120, "Account"), (60, 300, "Start search"), *texts, fields=[(200, 118, number)])
    return replace(shown, **how)


def account(number: str, owner: str, state: str) -> Page:
    texts = [(20, 120, "Account"), (200, 120, number), (20, 160, "Owner"), (200, 160, owner), (20, 200, "State")]
    shown = page((20, 50, "ACCOUNT DETAILS"), *texts, (200, 200, state), (20, 260, f"Adviser of {owner}: Dr. Quill"))
    return replace(shown, masks=(Box(190, 155, 300, 26), Box(10, 255, 400, 26)))


def run(home: Path, name: str, acts: Sequence[Act], last: Page, answer: Any) -> str:
    return record(home, name, LOOK, acts, last, answer)


def compiled(home: Path, *traces: str, strict: bool = False) -> tuple[dict[str, Any], str]:
    how = {"as_json": True, "strict": strict}
    told = json.loads(compile_traces(traces, home / "made.yaml", "look-up", (), None, home, **how))
    return told, (home / "made.yaml").read_text()


def test_no_masked_content_enters_the_playbook(tmp_path: Path) -> None:
    traces = []
    for number, owner, state in (("AB-1207", "Ida Falk", "Open"), ("CD-3391", "Tom Reed", "Closed")):
        mask = Box(290, 40, 300, 30)  # over the name of the clerk, which each run shows
        find = search((300, 50, "CLERK ROSALIND"), number=number, masks=(mask,))
        empty = search((300, 50, "CLERK ROSALIND"), masks=(mask,))
        named = {"role": "button", "name": "ROSALIND'S SEARCH", "application": "accounts"}
        acts = [
            Act(empty, click="Account", element=named),
            Act(empty, write=number),
            Act(find, click="Start search", element=named),
        ]
        traces.append(run(tmp_path, number, acts, account(number, owner, state), {"state": state, "owner": owner}))
    told, text = compiled(tmp_path, *traces)
    assert (told["params"], told["steps"], told["ask_model"]) == ({"account": "text"}, 3, ["owner"])
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for private in ("ROSALIND", "CLERK", "Ida", "Falk", "Tom", "Reed", "Adviser", "Quill"):
        assert private.casefold() not in body.casefold()
    assert "click: Start search" in text


def test_a_masked_target_is_refused(tmp_path: Path) -> None:
    at = Point(474, 305)
    clear = search(icons=((460, 290),))
    hidden = replace(clear, masks=(Box(456, 286, 44, 44),))
    last = account("AB-1207", "Ida Falk", "Open")
    for name, shown in (("whole", hidden), ("partly", replace(clear, masks=(Box(478, 300, 40, 40),)))):
        trace = run(tmp_path, name, [Act(shown, at=at)], last, {"state": "Open"})
        with pytest.raises(InvalidUsage, match="Step 1 takes the model"):
            compiled(tmp_path, trace, strict=True)
    assert not list(tmp_path.glob("*.png"))
    compiled(tmp_path, run(tmp_path, "clear", [Act(clear, at=at)], last, {"state": "Open"}))
    assert len(list(tmp_path.glob("*.png"))) == 1, "the same icon without a mask is found by its picture"


def test_a_picture_that_contains_a_private_text_is_not_used(tmp_path: Path) -> None:
    def people(*names: str) -> Page:
        """Return a card per person: an icon, and the name below it."""
        left = [460 + 110 * number for number in range(len(names))]
        texts = [(at + 4, 350, name) for at, name in zip(left, names, strict=True)]
        cards = tuple(Box(at, 290, 88, 88) for at in left)
        return search(*texts, icons=tuple((at + 26, 296) for at in left), frames=cards)

    last = account("AB-1207", "Ida Falk", "Open")
    trace = run(tmp_path, "cards", [Act(people("Ida Falk", "Tom Reed"), at=Point(504, 314))], last, {"state": "Open"})
    with pytest.raises(InvalidUsage, match="Step 1 takes the model"):
        compiled(tmp_path, trace, strict=True)
    assert not list(tmp_path.glob("*.png"))
