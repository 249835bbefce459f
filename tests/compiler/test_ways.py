"""Common steps of several runs, without detours and repetitions, and the types of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holo_tasks.compiler.compile import Compiled
from holo_tasks.compiler.parameters import parameters_of
from holo_tasks.compiler.recording import Recording
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.script import Script
from holo_tasks.vision.screen_text import Sight
from tests.support.read_runs import Did, click, compiled, recording, screen, write

MENU = screen((20, 50, "MAIN MENU"), (60, 120, "Find an order"), (60, 170, "Suppliers"))
SUPPLIERS = screen((20, 50, "LIST OF SUPPLIERS"), (60, 120, "Close this list"))
SEARCH = screen((20, 50, "ORDER SEARCH"), (20, 120, "Order number"), (60, 300, "Start search"), fields=[(200, 118, "")])


class Run:
    """A run that looks up an order, with optional extra steps."""

    def __init__(self, number: str, aside: Sequence[Did] = (), again: int = 1) -> None:
        filled = screen(
            *((20, 50, "ORDER SEARCH"), (20, 120, "Order number"), (60, 300, "Start search")),
            fields=[(200, 118, number)],
        )
        last = screen((20, 50, "ORDER DETAILS"), (20, 120, "Order"), (200, 120, number))
        find, field = click(MENU, "Find an order"), click(SEARCH, "Order number")
        did = [*aside, *[find] * again, *[field] * again, write(SEARCH, number), click(filled, "Start search")]
        self.screens: list[Sight] = [*(one.on for one in did), last]
        self.recording: Recording = recording(number, did, last, {"number": number})


def made(*runs: Run) -> Compiled:
    return compiled([one for run in runs for one in run.screens], *(run.recording for run in runs))


def done(found: Compiled) -> list[str]:
    rules = parse_playbook(found.text).rules_of("do-it")
    return sorted(action.kind for rule in rules for action in rule.do)


STRAIGHT = ["answer", "click", "click", "click", "write"]


def test_steps_repeated_without_effect_are_compiled_once() -> None:
    straight = made(Run("AB-1207"), Run("CD-3391"))
    assert (straight.steps, straight.left_out, done(straight)) == (4, 0, STRAIGHT)
    repeated = made(Run("AB-1207", again=3), Run("CD-3391", again=3))
    assert (repeated.steps, repeated.left_out, done(repeated)) == (4, 8, STRAIGHT)
    assert repeated.text == straight.text


def test_a_detour_that_one_run_took_is_left_out() -> None:
    detour = [click(MENU, "Suppliers"), click(SUPPLIERS, "Close this list")]
    found = made(Run("AB-1207", detour), Run("CD-3391"), Run("EF-5050"))
    assert (found.steps, found.left_out, done(found)) == (4, 2, STRAIGHT)
    assert "Close this list" not in found.text
    with_all = made(Run("AB-1207", detour), Run("CD-3391", detour))
    assert (with_all.steps, with_all.left_out) == (6, 0), "steps of all runs are kept"


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("12", "-700", "int"),
        (12, 700, "int"),
        ("1284.50", "77.00", "money"),
        ("2026-11-22", "2027-01-02", "date"),
        ("TX-10482", "TX-10500", "text"),
        ("0012", "0013", "text"),  # the number would lose its leading zeros
        ("1,284.50", "77.00", "text"),  # the number would be typed in another format
        ("12", "77.00", "text"),
        ("2026-02-30", "2026-11-22", "text"),
        ("12", "a dozen", "text"),
    ],
)
def test_the_type_of_a_parameter_follows_the_format_of_its_values(first: Any, second: Any, kind: str) -> None:
    last = screen((20, 50, "DONE"))
    told = [recording(str(number), [], last, given=value) for number, value in enumerate((first, second))]
    assert parameters_of(told, {}).kinds == {"given": kind}


@pytest.mark.parametrize(
    ("values", "kind", "wrong"),
    [
        (("1284", "9077"), "int", "twelve"),
        (("1284.50", "9077.25"), "money", "12.505"),
        (("2026-11-22", "2027-01-02"), "date", "22.11.2026"),
        (("AB-1207", "CD-3391"), "text", ""),
    ],
)
def test_the_type_of_a_parameter_is_written_and_enforced(values: tuple[str, str], kind: str, wrong: str) -> None:
    found = made(*map(Run, values))
    assert found.parameters == {"order_number": kind}
    assert f"params: {{order_number: {kind}}}" in found.text
    playbook = parse_playbook(found.text)
    Script(playbook, order_number=values[0])
    with pytest.raises(InvalidUsage, match="order_number: "):
        Script(playbook, order_number=wrong)
