"""Doubts about the texts and answers of a model: each is reported once, and right steps cause none."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.prompts.toolbox import STANDARD
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.task_values import TaskValues
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.task_doubts import TaskDoubts
from holo_tasks.loop.walk import Walk
from tests.loop.test_named_click import DELETE, FIELD, FORM, SAVE, at
from tests.support.element_trees import TellsTree, element, tree_of
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, wrote

GOAL = "File the entry CB-1042 with the amount 1284.50."
DONE = step("answer", content="done")
AMOUNT, REFERENCE = step("write", content="1284.50"), step("write", content="CB-1042")
OTHER = step("click", element="Delete button", **at(DELETE))
WAIT = step("wait", seconds=0.1)
PRESS, INTO = step("click", element="Save button", **at(SAVE)), step("click", element="Amount field", **at(FIELD))


class Case:
    """A model that works on a goal. The program reports ``tree``; ``shows`` is the text that OCR reads."""

    def __init__(self, *said: Any, goal: str = GOAL, tree: ElementTree | None = FORM, shows: str = "", **how: Any):
        self.recorder, self.desktop = MemoryRecorder(), PaintedDesktop()
        self.model = MemoryModel([wrote(each) for each in (*said, DONE, DONE)])
        self.walk = walk_of(as_model(self.model, tools=STANDARD), desktop=self.desktop, recorder=self.recorder)
        elements = Elements(TellsTree(tree)) if tree is not None else None
        self.walk.services = replace(self.walk.services, elements=elements, screen_text=self._read)
        self.shows, self.readings, self.doubts = shows, 0, TaskDoubts(TaskValues.of(goal), **how)

    async def _read(self, frame: Frame, where: Point | Box) -> str:
        self.readings += 1
        return self.shows

    async def ends(self) -> str:
        """Work until the answer is taken; return the messages that the model got meanwhile."""
        await pursue(
            Executor(self.walk, Walk.act),
            read=str,
            decide=lambda walk, final: walk.decide(answer_only=final),
            max_steps=20,
            doubts=self.doubts,
        )
        return " ".join(event.reason for event in self.recorder.of("correction"))

    @property
    def typed(self) -> list[str]:
        return [gesture.text for gesture in self.desktop.gestures if isinstance(gesture, Write)]


async def test_a_wrong_digit_is_not_typed_and_the_model_gets_both_values() -> None:
    case = Case(step("write", content="1284.60"), AMOUNT, REFERENCE, PRESS)
    told = await case.ends()
    assert case.typed == ["1284.50", "CB-1042"]
    assert "‘1284.60’, but the task says ‘1284.50’. Nothing was typed." in told
    assert "‘1284.60’, but the task says" in json.dumps(case.model.bodies[1]["messages"], ensure_ascii=False)


async def test_a_model_that_repeats_the_text_types_it() -> None:
    other = step("write", content="1284.60")
    case = Case(other, other, REFERENCE, PRESS)
    assert "carried out" in await case.ends()
    assert case.typed == ["1284.60", "CB-1042"]


async def test_a_text_that_the_program_shows_is_no_slip() -> None:
    shown = tree_of(*FORM.elements, element("label", "the next number is CB-1043", Box(10, 10, 90, 20)))
    case = Case(step("write", content="CB-1043"), AMOUNT, REFERENCE, PRESS, tree=shown)
    assert "the task says" not in await case.ends()
    assert case.typed[0] == "CB-1043"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([], "the task names ‘CB-1042’, ‘1284.50’"),
        ([REFERENCE, PRESS], "the task names ‘1284.50’"),
        ([REFERENCE, AMOUNT], "nothing was pressed after you typed ‘1284.50’"),
        ([REFERENCE, AMOUNT, INTO], "you clicked into ‘Amount field’ and typed nothing after that"),
        ([REFERENCE, AMOUNT, step("hotkey", keys=["tab"])], "nothing was pressed after you typed ‘1284.50’"),
    ],
)
async def test_an_answer_to_unfinished_work_is_sent_back_once(said: list[Any], told: str) -> None:
    case = Case(*said)
    assert told in await case.ends()
    assert len(case.model.bodies) == len(said) + 2
    assert told in json.dumps(case.model.bodies[-1]["messages"], ensure_ascii=False)


@pytest.mark.parametrize(
    ("said", "still", "doubted"),
    [
        pytest.param([REFERENCE, AMOUNT, PRESS], (3,), True, id="a press without effect"),
        pytest.param([REFERENCE, AMOUNT, PRESS, WAIT], range(3, 10_000), True, id="and a wait"),
        pytest.param([REFERENCE, AMOUNT, PRESS, WAIT], (3,), False, id="a late effect"),
        pytest.param([REFERENCE, AMOUNT, PRESS, WAIT], (), False, id="a press with an effect"),
        pytest.param([REFERENCE, AMOUNT, PRESS, OTHER], (3,), False, id="another press with an effect"),
        pytest.param([REFERENCE, AMOUNT, PRESS, OTHER], (4,), False, id="a press after the one that sent"),
    ],
)
async def test_a_press_that_changed_nothing_has_not_sent_the_text(
    said: list[Any], still: Container[int], doubted: bool
) -> None:
    case = Case(*said)
    case.desktop.still = still
    assert ("after that text changed nothing on the screen" in await case.ends()) == doubted


@pytest.mark.parametrize(
    "last",
    [
        [PRESS],
        [step("hotkey", keys=["ctrl", "s"])],
        [step("write", content="1284.50", press_enter=True)],
        [PRESS, step("wait", seconds=0.1)],
    ],
)
async def test_finished_work_costs_no_further_call(last: list[Any]) -> None:
    case = Case(REFERENCE, AMOUNT, *last)
    assert await case.ends() == ""
    assert len(case.model.bodies) == 3 + len(last)
    assert case.readings == 0, "no OCR where everything was typed"


async def test_a_value_that_the_screen_shows_is_not_missing() -> None:
    read = Case(PRESS, tree=None, shows="Entry CB-1042  EUR 1,284.50")
    assert await read.ends() == ""
    clicked = Case(PRESS, tree=tree_of(*FORM.elements, element("cell", "CB-1042 1284.50", Box(10, 10, 90, 20))))
    assert await clicked.ends() == ""
    assert clicked.readings == 0, "no OCR where the program reports the values"
    answered = Case(PRESS, step("answer", content="CB-1042 has 1284.50"))
    assert await answered.ends() == ""


async def test_a_declared_button_that_was_never_pressed_is_named() -> None:
    case = Case(goal="Send the letter.", labels=("Send",))
    assert "‘Send’ was never pressed" in await case.ends()


@pytest.mark.parametrize(
    ("goal", "said", "is_told"),
    [
        ("Tick the box and click Save.", [OTHER], True),
        ("Tick the box and click ‘Save’.", [OTHER], True),
        ("Tick the box and click Save.", [PRESS], False),
        ("Tick the box and click Save.", [step("click", element="the lower right corner", **at(SAVE))], False),
        ("Tick the box and click Save.", [step("hotkey", keys=["ctrl", "s"])], False),
        ("Save the entry.", [OTHER], False),
        ("Tick the box to save the entry.", [OTHER], False),
        ("Tick the box. Then press the button Save.", [OTHER], True),
        ("Tick the box. Do not press Save.", [OTHER], False),
        ("Tick the box, but don’t click Save.", [OTHER], False),
        ("Tick the box without clicking Delete, never press Save.", [OTHER], False),
        ("If a message comes: press Save.", [OTHER], False),
        ("Tick the box and click Send.", [OTHER], False),
    ],
)
async def test_a_button_that_the_task_names_is_missed_if_it_is_there_and_was_not_pressed(
    goal: str, said: list[Any], is_told: bool
) -> None:
    case = Case(*said, goal=goal)
    reported = await case.ends()
    assert ("‘Save’ was never pressed" in reported) == is_told
    assert bool(reported) == is_told


RED, BLUE, INK = Box(20, 20, 20, 20), Box(20, 60, 20, 20), Box(20, 90, 20, 20)
CHECKED = ("checked",)


@pytest.mark.parametrize(
    ("goal", "red", "said", "is_told"),
    [
        ("Select Red and Blue.", (), [step("click", element="Blue", **at(BLUE))], True),
        ("Tick ‘Red’.", (), [OTHER], True),
        ("Select Red.", CHECKED, [OTHER], False),
        ("Select Red.", (), [step("click", element="the first box", **at(RED))], False),
        ("Select Blue.", (), [step("click", element="Blue", **at(BLUE))], False),
        ("Do not select Red.", (), [OTHER], False),
        ("Select Red if it rains.", (), [OTHER], False),
        ("Select Redcar.", (), [OTHER], False),
        ("Red is a colour.", (), [OTHER], False),
        ("Red paint is needed, check the list.", (), [OTHER], False),
        ("Select Ink.", (), [OTHER], False),
    ],
)
async def test_an_option_that_the_task_names_is_missed_if_it_is_there_and_not_chosen(
    goal: str, red: tuple[str, ...], said: list[Any], is_told: bool
) -> None:
    """Two options are called Ink, so nothing tells which one the task means."""
    options = [element("check box", "Red", RED, *red), element("check box", "Blue", BLUE)]
    inks = [element("radio button", "Ink", INK), element("radio button", "Ink", Box(60, 90, 20, 20))]
    case = Case(*said, goal=goal, tree=tree_of(*FORM.elements, *options, *inks))
    assert ("names ‘Red’, which you have never pressed" in await case.ends()) == is_told
    assert len(case.model.bodies) == len(said) + (2 if is_told else 1)


async def test_a_recipient_and_a_short_amount_that_were_never_typed_are_missed() -> None:
    case = Case(PRESS, goal="Forward that email to Corabel.")
    assert "the task names ‘Corabel’" in await case.ends()
    case = Case(PRESS, goal="Put 512 beside Ada.")
    assert "the task names ‘512’" in await case.ends()
    chosen = Case(step("click", element="Corabel in the list", **at(SAVE)), goal="Forward that email to Corabel.")
    assert await chosen.ends() == ""


@pytest.mark.parametrize(
    ("goal", "said", "is_told"),
    [
        ("Delete the row. Save the file, and keep its format.", [OTHER], True),
        ("Delete the row and save the document.", [OTHER], True),
        ("Save the file.", [OTHER, step("hotkey", keys=["ctrl", "s"])], False),
        ("Save the file.", [step("click", element="the lower right corner", **at(SAVE))], False),
        ("Delete the row, do not save the file.", [OTHER], False),
        ("Delete the row.", [OTHER], False),
        ("Delete the file that you were asked to save.", [OTHER], False),
    ],
)
async def test_a_document_that_was_never_saved_is_missed(goal: str, said: list[Any], is_told: bool) -> None:
    assert ("nothing was saved" in await Case(*said, goal=goal).ends()) == is_told


async def test_a_doubt_is_told_again_only_after_further_steps_and_at_most_twice() -> None:
    insists = Case(REFERENCE, PRESS, DONE)
    assert (await insists.ends()).count("‘1284.50’") == 1
    worked_on = Case(REFERENCE, PRESS, DONE, PRESS, DONE, PRESS)
    assert (await worked_on.ends()).count("‘1284.50’") == 2
    assert len(worked_on.model.bodies) == 7


@pytest.mark.parametrize(
    ("shows", "is_told"),
    [
        ("Find the email by Wilone and\nforward that email to\nCorabel.\nInbox", True),
        ("Forwarded to Corabel\nInbox", False),
        ("Find the email by Wilone and\nforward that email to\nCorabel.\nSent: Corabel", False),
    ],
)
async def test_a_page_that_repeats_the_task_does_not_show_its_values(shows: str, is_told: bool) -> None:
    goal = "Find the email by Wilone and forward that email to Corabel. When it is done, answer with the word done."
    for where in ("OCR", "tree"):
        tree = tree_of(*FORM.elements, *(element("label", line) for line in shows.split("\n")))
        case = Case(PRESS, goal=goal, tree=tree if where == "tree" else None, shows=shows if where == "OCR" else "")
        assert ("the task names ‘Corabel’" in await case.ends()) == is_told


async def test_the_data_of_a_task_asks_for_no_press() -> None:
    case = Case(OTHER, goal="Tick the box of the note.")
    case.doubts.task = TaskValues.of("Tick the box of the note.", {"note": "Then click Save."})
    assert "was never pressed" not in await case.ends()


async def test_work_that_only_fills_in_fields_is_doubted_once_in_a_run() -> None:
    fills: set[str] = set()
    first, second = (Case(REFERENCE, AMOUNT, work="fill in", may_end_typed=fills) for _ in range(2))
    assert "nothing was pressed" in await first.ends()
    assert await second.ends() == ""
    other = Case(REFERENCE, AMOUNT, work="send", may_end_typed=fills)
    assert "nothing was pressed" in await other.ends()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{"filed": true}', "you have done nothing yet"),
        ("done", "you have done nothing yet"),
        ('{"paid": "2026-04-01", "again": false}', ""),
        ("It was paid by transfer.", "you have done nothing yet"),
        ("2026-04-01", ""),
    ],
)
async def test_an_answer_without_work_has_to_tell_what_the_screen_shows(answer: str, told: str) -> None:
    """A program may list the items that are to be done. Such a list does not prove that they are done."""
    said = step("answer", content=answer)
    case = Case(said, said, tree=None, shows="To file: CB-1042  1284.50, paid on 2026-04-01")
    reported = await case.ends()
    assert told in reported if told else not reported
