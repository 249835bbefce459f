"""An item that a run entered stops a replay that finds it on the first screen; an item that was searched does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.cli.compile import AGAIN, FIRST_SCREEN
from holo_tasks.compiler.new_items import entered_values, enters_an_item, without_entered
from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts import playbook_brain
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.playbook import BadPlaybook, parse_playbook
from holo_tasks.scripts.playbook_brain import DoesNotFit, PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script_view import ScreenNeeds, ScreenReader
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import compiled
from tests.support.deciding import decided
from tests.support.recorded_runs import Act, Page, page, record

SIZE = Size(400, 300)
PICTURE = Picture("one", Box.whole(SIZE), SIZE)
VALUES = {"number": "R-1002", "customer": "Dorn Printing"}
KINDS: dict[str, Kind] = {"number": "text", "customer": "text"}
TEXT = """
name: sheet
goals:
  enter:
    params: {number: text}
    absent: ["{number}"]
    steps:
      - hotkey: [ctrl, down]
      - write: {text: "{number}"}
      - answer: done
"""


def screen(*texts: str) -> Sight:
    return Sight(tuple(Line(text, Box(20, 20 + 20 * n, 80, 16)) for n, text in enumerate(texts)), SIZE)


def step(tool: str, element: Mapping[str, str] | None = None, **arguments: Any) -> RecordedStep:
    return RecordedStep(1, tool, arguments, "", PICTURE, PICTURE, element=element or {})


UNREAD = Sight((), SIZE)


class Reads(ScreenReader):
    """Reads the text of the screen only if it is asked for: the program reports no contents of its sheet."""

    def __init__(self, full: Sight) -> None:
        self.full, self.looks = full, 0

    async def sight(self, walk: Walk, needs: ScreenNeeds = ScreenNeeds.TEXT, *, reported: bool = False) -> Sight:
        self.looks += ScreenNeeds.TEXT in needs
        return self.full if ScreenNeeds.TEXT in needs else UNREAD


NUMBER, CUSTOMER = step("write", content="R-1002"), step("write", content="Dorn Printing")
TAB, FIELD = step("hotkey", keys=["tab"]), step("click", {"role": "text field", "name": "Customer"})
PLACE, BOX = step("click"), step("click", {"role": "check box", "name": "Paid"})


def entered(
    *steps: RecordedStep, first: tuple[str, ...] = ("R-0901",), last: tuple[str, ...] = ("R-1002",)
) -> list[str]:
    return entered_values(steps, [(screen(*first), screen(*last), VALUES)], KINDS)


@pytest.mark.parametrize("ways", [(TAB,), (FIELD,), (PLACE,), (BOX, FIELD)])
def test_a_number_that_was_typed_into_the_same_form_is_new(ways: tuple[RecordedStep, ...]) -> None:
    assert entered(NUMBER, *ways, CUSTOMER) == ["{number}"]


@pytest.mark.parametrize(
    "steps",
    [
        (step("write", content="R-1002", press_enter=True), FIELD, CUSTOMER),
        (NUMBER, step("hotkey", keys=["enter"]), CUSTOMER),
        (NUMBER, step("click", {"role": "button", "name": "Find"}), FIELD, CUSTOMER),
        (NUMBER, step("click"), PLACE, CUSTOMER),
        (NUMBER,),
    ],
)
def test_a_number_that_was_searched_is_not(steps: tuple[RecordedStep, ...]) -> None:
    assert entered(*steps) == []


def test_a_number_that_was_there_before_or_is_not_shown_at_the_end_is_not() -> None:
    assert entered(NUMBER, TAB, CUSTOMER, first=("R-1002",)) == []
    assert entered(NUMBER, TAB, CUSTOMER, last=("Saved",)) == []
    assert entered(CUSTOMER, TAB, NUMBER, last=("R-1002", "Dorn Printing")) == [], "a name belongs to many items"


@pytest.mark.parametrize("value", ["48.20", "2026", "3 Church Road"])
def test_an_amount_a_year_or_an_address_may_belong_to_many_items(value: str) -> None:
    steps = [step("write", content=value), TAB, CUSTOMER]
    told = {"number": value, "customer": "Dorn Printing"}
    assert entered_values(steps, [(screen("R-0901"), screen(value), told)], KINDS) == []


def of_two(number: str, other: str, *between: RecordedStep) -> list[str]:
    steps = [step("write", content=number), *between, step("write", content=other), TAB, CUSTOMER]
    kinds: dict[str, Kind] = {**KINDS, "other": "text"}
    shown = [(screen("R-0901"), screen(number, other), {**VALUES, "number": number, "other": other})]
    return entered_values(steps, shown, kinds)


def test_of_two_numbers_in_a_form_either_may_name_the_item() -> None:
    assert of_two("C-1001", "R-1002", TAB) == []
    assert of_two("R-1002", "Lamps", TAB) == ["{number}"]
    assert of_two("R-1002", "R-1002", TAB) == ["{number}"], "the same number twice"
    assert of_two("C-1001", "R-1002", step("hotkey", keys=["enter"])) == ["{other}"], "two forms"


@pytest.mark.parametrize("typed", ["R-1002", "RE1002", "INV-2026-0012", "PO#4711", "Q-1002", "TW-4711", "AB-123-C4"])
def test_a_number_with_letters_names_one_item(typed: str) -> None:
    shown = [(screen("R-0901"), screen(typed), {**VALUES, "number": typed})]
    assert entered_values((step("write", content=typed), TAB, CUSTOMER), shown, KINDS) == ["{number}"]


@pytest.mark.parametrize(
    "typed",
    [
        *("05.03.2026", "25,00 EUR", "100 kg", "Net 30", "20261107", "Q4 2026", "2026-W48", "W48-2026", "FY2026"),
        *("FY2026-001", "Nov-2026", "T2 2026-11-01", "P100-W48", "ISO9001", "EN-1090", "AB10 1XY", "Room B101"),
        *("A4 500 sheets", "A4"),
    ],
)
def test_a_date_a_period_a_standard_or_an_amount_belongs_to_many_items(typed: str) -> None:
    shown = [(screen("R-0901"), screen(typed), {**VALUES, "number": typed})]
    assert entered_values((step("write", content=typed), TAB, CUSTOMER), shown, KINDS) == []


SEARCHED = step("write", content="R-1002", press_enter=True)
MEMO = step("write", content="two keys")
AT_NUMBER, AT_CUSTOMER = step("write_at", content="R-1002"), step("write_at", content="Dorn Printing")
MEMORY = {**VALUES, "memo": "two keys"}
TABLE = {"read": {"total": {"row": "{number}", "column": "Total"}}, "answer": "{total}"}
STORED = {"read": {"answer": {"line": r"(Stored as S-\d+)"}}, "answer": "{answer}"}


@pytest.mark.parametrize(
    ("steps", "answer", "enters"),
    [
        pytest.param((NUMBER, TAB, CUSTOMER), {"answer": "done"}, True, id="a new item"),
        pytest.param((CUSTOMER, FIELD, NUMBER, TAB, MEMO), STORED, True, id="stored under a number"),
        pytest.param((SEARCHED, FIELD, MEMO), {"answer": "done"}, False, id="a change of an item that was searched"),
        pytest.param((NUMBER, BOX, TAB, CUSTOMER), {"answer": "done"}, True, id="a check box between them"),
        pytest.param((NUMBER, PLACE, CUSTOMER), {"answer": "done"}, True, id="a program without elements"),
        pytest.param((AT_NUMBER, AT_CUSTOMER), {"answer": "done"}, True, id="typed at places"),
        pytest.param((SEARCHED, PLACE, MEMO), {"answer": "done"}, False, id="a change without elements"),
        pytest.param((NUMBER, PLACE, PLACE, MEMO), {"answer": "done"}, False, id="a search without elements"),
        pytest.param((NUMBER, TAB, CUSTOMER), TABLE, False, id="a search for two values"),
        pytest.param((NUMBER, TAB, step("write", content="fixed")), {"answer": "done"}, False, id="a fixed text"),
    ],
)
def test_several_values_in_one_form_enter_an_item(
    steps: tuple[RecordedStep, ...], answer: dict[str, Any], enters: bool
) -> None:
    assert enters_an_item(steps, MEMORY, answer) == enters


@pytest.mark.parametrize(
    ("there", "stops"), [("R-1002", True), ("R-1002 Dorn", True), ("R-10021", False), ("R-0901", False)]
)
async def test_a_new_item_that_is_on_the_first_screen_stops_the_steps(there: str, stops: bool) -> None:
    brain = PlaybookBrain(parse_playbook(TEXT), "enter", {"number": "R-1002"}, Reads(screen("Number", there)))
    rule = brain.rules[-1]  # the last step comes first
    call = {"tool_name": "hotkey", "keys": ["ctrl", "down"], "repeat_count": 1}
    given = Decision({"note": None, "thought": rule.do[0].thought, "tool_call": call}, "", rule.do[0], rule=rule.id)
    if not stops:
        assert (await decided(brain, given, UNREAD)).tool_call.tool_name == "hotkey"
        return
    with pytest.raises(GaveUp, match="R-1002’ is on the screen already"):
        await decided(brain, given, UNREAD)


@pytest.mark.parametrize(
    ("absent", "is_valid"),
    [("{number}", True), ("Order {number}", True), ("Saved", False), ("{order}", False), ("{number} {order}", False)],
)
def test_a_text_that_must_be_absent_has_a_value_of_the_goal(absent: str, is_valid: bool) -> None:
    text = TEXT.replace('["{number}"]', f'["{absent}"]')
    if is_valid:
        assert parse_playbook(text).goals["enter"].absent == (absent,)
        return
    with pytest.raises(BadPlaybook, match=r"absent: .* needs the name of a value"):
        parse_playbook(text)


LEFT = TEXT.replace("- hotkey: [ctrl, down]", "- by_model: Select the next row.")


@pytest.mark.parametrize(("there", "stops"), [("R-1002", True), ("R-0901", False)])
async def test_a_new_item_on_the_first_screen_stops_a_step_of_the_model(there: str, stops: bool) -> None:
    """A model that does the first step would enter the item twice."""
    brain = PlaybookBrain(parse_playbook(LEFT), "enter", {"number": "R-1002"}, Reads(screen("Number", there)))
    rule = brain.rules[-1]  # the last step comes first
    call = {"tool_name": "ask_human", "question": "Select the next row."}
    given = Decision({"note": None, "thought": rule.do[0].thought, "tool_call": call}, "", rule.do[0], rule=rule.id)
    with pytest.raises(GaveUp) as raised:
        await decided(brain, given, UNREAD)
    assert isinstance(raised.value, DoesNotFit) is not stops
    assert ("already" in str(raised.value)) is stops


async def test_a_new_item_is_looked_for_once_on_each_screen_before_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the playbook waits for its first screen, the item may come into view. An answer enters nothing."""
    reader = Reads(screen("Loading"))
    brain = PlaybookBrain(parse_playbook(TEXT), "enter", {"number": "R-1002"}, reader)
    call = {"tool_name": "wait", "seconds": 1.0}
    wait = Decision({"note": None, "thought": "Waiting.", "tool_call": call}, "", lost=True)
    for picture, looks in (("one", 1), ("one", 1), ("two", 2)):
        monkeypatch.setattr(playbook_brain, "_picture", lambda walk, picture=picture: picture)
        await decided(brain, wait, UNREAD)
        assert reader.looks == looks
    monkeypatch.setattr(playbook_brain, "_picture", lambda walk: "three")
    reader.full = screen("R-1002")
    rule = brain.rules[0]  # the last step comes first
    assert rule.do[0].answer is not None
    done = {"tool_name": "answer", "content": "done"}
    answer = Decision({"note": None, "thought": "Done.", "tool_call": done}, "", rule.do[0], rule=rule.id)
    assert (await decided(brain, answer, UNREAD)).tool_call.tool_name == "answer"
    with pytest.raises(GaveUp, match="already"):
        await decided(brain, wait, UNREAD)


@pytest.mark.parametrize(
    ("typed", "last", "told"),
    [
        pytest.param((), "STORED IN THE BOOK", "", id="nothing typed"),
        pytest.param(("R-1002",), "STORED IN THE BOOK", AGAIN, id="not shown afterwards"),
        pytest.param(("R-1002", "Dorn Printing"), "R-1002", FIRST_SCREEN, id="a new item"),
    ],
)
def test_the_command_says_that_a_playbook_may_enter_an_item_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: tuple[str, ...], last: str, told: str
) -> None:
    form = page((20, 10, "ENTER A PAYMENT HERE"), (20, 60, "Number"), (20, 380, "Store"))
    acts = [*(Act(form, write=text) for text in typed), Act(form, click="Store")]
    goal = "Store it.\n\n" + quoted({"number": "R-1002", "customer": "Dorn Printing"})
    compiled(tmp_path, record(tmp_path, "one", goal, acts, page((20, 10, "THE BOOK"), (20, 60, last)), ""))
    said = capsys.readouterr().err
    assert [each for each in (AGAIN, FIRST_SCREEN) if each in said] == ([told] if told else [])


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (["{article}", "*{quantity}*"], ["{article}"]),
        (["*{article}*", "{quantity}"], ["*{article}*"]),
        (["*{quantity}*"], []),
        (["{quantity}"], ["{quantity}"]),
        (["{article}", "*{customer}*"], ["{article}", "*{customer}*"]),
        (["*{number}*", "{article}", "{quantity}"], ["*{number}*", "{article}"]),
    ],
)
def test_a_value_that_is_typed_later_names_no_item_beside_another(texts: list[str], kept: list[str]) -> None:
    values = {"number": "R-1002", "article": "K-11", "quantity": "12", "customer": "Dorn"}
    later = [step("click"), step("write", content="12"), step("write", content="for Dorn"), NUMBER]
    assert without_entered(texts, later, values) == kept


def test_a_quantity_is_not_required_before_it_is_typed(tmp_path: Path) -> None:
    """It is a part of another article's number by chance."""

    def articles(quantity: str) -> Page:
        texts = [(20, 10, "ARTICLES"), (20, 60, "K-11"), (20, 100, "K-12"), (20, 200, "Quantity")]
        return page(*texts, fields=[(150, 198, quantity)])

    start = page((20, 10, "START"), (60, 60, "Next"))
    acts = [Act(start, click="Next"), Act(articles(""), click="Quantity"), Act(articles(""), write="12")]
    trace = record(tmp_path, "one", "Enter the quantity.", acts, articles("12"), "done")
    _, told, text = compiled(tmp_path, trace)
    assert [*told["params"]] == ["quantity"]
    assert "*{quantity}*" not in text
