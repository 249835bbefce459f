"""The trace names the element that each action hit, without masked texts and without waiting for a slow tree."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.accessibility import reader
from holo_tasks.core import events
from holo_tasks.core.elements.elements import TOO_LATE, Application, ElementTree
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.ports import Recorder, Reply
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.loop import element_tree
from holo_tasks.loop.approval import words_for
from holo_tasks.loop.element_tree import AT_HAND_S, FIRST_S, LONGEST_S, RESTS, SLOW_S, Elements
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from holo_tasks.safety.scrubbed_model import ScrubbedRecorder
from tests.support.element_trees import PID, TellsTree, element, focused, tree_of, window
from tests.support.painted_desktop import WHOLE, PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

CLICK, WAIT = wrote(step("click", element="OK", x=500, y=500)), wrote(step("wait", seconds=0.1))
TYPE, ANSWER = wrote(step("write", content="x")), wrote(step("answer", content="done"))
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "elements.md"
BUTTON = Box(140, 80, 40, 40)
FORM = tree_of(
    window(WHOLE),
    element("button", "Save", BUTTON),
    element("label", "Save", Box(150, 90, 20, 20), parent=1),
    focused(element("text field", "Reference", Box(10, 10, 50, 20), value="TX-10482")),
)


async def test_the_tree_is_not_sent_to_the_model() -> None:
    client = MemoryModel([CLICK, TYPE, ANSWER])
    walk = walk_of(as_model(client), desktop=PaintedDesktop())
    walk.services = replace(walk.services, elements=Elements(TellsTree(FORM)))
    await work(walk)
    assert len(client.bodies) == 3
    assert not any(word in str(client.bodies) for word in ("Save", "Reference", "TX-10482", "text field"))


async def hits(
    told: TellsTree, *said: Any, masks: tuple[Mask, ...] = (), recorder: Recorder | None = None, **how: Any
) -> list[dict[str, str]]:
    """Return the elements that a walk's actions are recorded with."""
    kept = MemoryRecorder()
    redactor = Painter([FixedRegions(masks)]) if masks else None
    model = as_model(MemoryModel([*said, ANSWER]))
    walk = walk_of(model, desktop=PaintedDesktop(), recorder=recorder or kept, redactor=redactor)
    walk.services = replace(walk.services, elements=Elements(told, **how))
    await work(walk)
    return [event.element for event in kept.of("action")]


async def test_an_action_is_recorded_with_its_button_or_the_focused_field() -> None:
    assert await hits(TellsTree(FORM), CLICK, TYPE) == [
        {"role": "button", "name": "Save", "application": "form", "alike": "1", "dialogs": "0"},
        {"role": "text field", "name": "Reference", "application": "form", "alike": "1", "dialogs": "0"},
    ]


async def test_a_masked_element_has_a_role_but_no_name() -> None:
    (hit,) = await hits(TellsTree(FORM), CLICK, masks=(Mask("region", Box(170, 110, 5, 5)),))
    assert hit == {"role": "button", "name": "", "application": "form", "dialogs": "0"}


async def test_a_name_is_one_visible_line_of_limited_length() -> None:
    long = tree_of(window(WHOLE), element("button", "Sa\x1b[2J\u202eve\n" * 100_000, BUTTON))
    (hit,) = await hits(TellsTree(long), CLICK)
    assert hit["name"].isprintable()
    assert len(hit["name"]) <= 80


async def test_secret_values_are_not_recorded() -> None:
    kept = MemoryRecorder()
    ours = ScrubbedRecorder(kept, Scrubber([Secret("pin", "hunter2-hunter2"), Secret("word", "button")]))
    tree = tree_of(window(WHOLE), element("button", "Send hunter2-hunter2", BUTTON))
    await hits(TellsTree(tree), CLICK, recorder=ours)
    (action,) = kept.of("action")
    assert action.element["name"] == "Send {{secret:pin}}"
    events.ActionIntended.model_validate(action.model_dump())


async def test_a_desktop_that_hangs_causes_one_long_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_tree, "LONGEST_S", 1.5)
    monkeypatch.setattr(element_tree, "FIRST_S", 0.05)
    told, began = TellsTree(FORM, takes_s=30.0), asyncio.get_running_loop().time()
    assert await hits(told, *[CLICK] * 6) == [{}] * 6
    assert asyncio.get_running_loop().time() - began < 3 * 1.5, "six long delays would take twice as long"


async def test_an_action_waits_for_the_tree_of_a_slow_program() -> None:
    """Java answers in a millisecond for each element. Without the tree a run could not be compiled."""
    told = TellsTree(FORM, takes_s=1.1)
    assert [hit["name"] for hit in await hits(told, CLICK)] == ["Save"]


LATE_APP = Application("form", PID, "", "none", note=TOO_LATE)


@pytest.mark.parametrize(("late", "name"), [(LATE_APP, None), (replace(LATE_APP, pid=PID + 1), "Save")])
async def test_an_element_of_a_moment_ago_does_not_name_an_action(late: Application, name: str | None) -> None:
    """The program that was pressed hangs, or another one does."""
    told = replace(FORM, applications=(late,), complete=False, why_not=f"form: {TOO_LATE}.")
    assert [hit.get("name") for hit in await hits(TellsTree(told), CLICK)] == [name]
    elements = Elements(TellsTree(told))
    await elements.hit(Click(BUTTON.center), ())
    assert (elements.latest is not None) is (name is not None)


async def test_a_program_that_has_not_answered_yet_is_asked_again_for_the_next_action() -> None:
    """It is not one that reports nothing."""
    late = ElementTree(complete=False, applications=(LATE_APP,), why_not=f"form: {TOO_LATE}.")
    trees = iter([late] * 2)
    found = await hits(TellsTree(lambda: next(trees, FORM)), CLICK, CLICK)
    assert [hit.get("name") for hit in found] == [None, "Save"]


@pytest.mark.parametrize(("outdated_s", "is_known"), [(9.0, True), (2 * SLOW_S, False)])
async def test_a_tree_of_the_same_action_is_used_if_the_program_does_not_answer_again(
    outdated_s: float, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holo_tasks.loop.element_tree.OUTDATED_S", outdated_s)
    told = TellsTree(FORM)
    elements = Elements(told)
    assert await elements.newest() is not None
    told.takes_s = 10 * AT_HAND_S
    await asyncio.sleep(3 * SLOW_S)
    found = await elements.hit(Click(BUTTON.center), ())
    assert found.get("name", "") == ("Save" if is_known else "")


@pytest.mark.parametrize("later", [0.0, 3 * SLOW_S])
async def test_the_tree_that_a_step_was_decided_by_names_it_if_the_program_is_slow(later: float) -> None:
    told = TellsTree(FORM)
    elements = Elements(told)
    await elements.read_for_action()
    told.takes_s = 10 * AT_HAND_S
    await asyncio.sleep(later)
    assert (await elements.hit(Click(BUTTON.center), ())).get("name") == "Save"
    assert told.asked == (1 if not later else 2)
    assert await elements.hit(Click(BUTTON.center), ()) == {}, "it names one action"


def test_the_documentation_states_the_timeout_for_a_name() -> None:
    said = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"waits at most {AT_HAND_S * 1000:g} ms for a tree ({FIRST_S * 1000:g} ms before the first action)" in said
    assert f"up to {reader.LONGEST_S:g} s for a program that goes on answering" in said
    assert f"sends nothing for {reader.HANGS_S:g} s" in said
    assert f"at most {reader.LATE_S * 1000:g} ms" in said
    assert 2 * (reader.LONGEST_S + reader.HANGS_S) < LONGEST_S, "the desktop gives its answer before the loop gives up"
    assert f"omits the next {RESTS} requests" in said


async def test_programs_without_a_tree_are_asked_again_at_intervals() -> None:
    told = TellsTree(ElementTree(complete=False, why_not="Nobody tells anything."))
    assert await hits(told, *[CLICK] * RESTS) == [{}] * RESTS
    assert told.asked <= 2 + 1  # the last reading is for the answer


async def test_a_wait_hits_no_element() -> None:
    told = TellsTree(FORM)
    assert await hits(told, WAIT) == [{}]
    assert told.asked == 2  # during the model calls for the pause and for the answer


def test_traces_from_before_elements_are_still_valid() -> None:
    old = {"kind": "action", "gesture_kind": "click", "gesture": {}, "label": "click OK", "before": ""}
    assert events.ActionIntended.model_validate_json(events.ActionIntended(**old).model_dump_json()).element == {}
    located = events.Located.model_validate({"kind": "location", "description": "x", "point": [1, 2]}, strict=True)
    assert located.by == ""


@pytest.mark.parametrize("how", [{}, {"unseen": False}])
async def test_only_unmasked_texts_are_recorded(how: dict[str, Any]) -> None:
    (hit,) = await hits(TellsTree(FORM), CLICK, text_filter=lambda text: text.replace("Save", "***"), **how)
    assert hit["name"] == "***"


async def test_a_tree_read_during_the_model_call_is_used() -> None:
    class Slow(MemoryModel):
        async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
            while told.answered < told.asked:
                await asyncio.sleep(0.01)
            return await super().complete(body, timeout_s=timeout_s)

    told, kept = TellsTree(FORM, takes_s=1.2 * SLOW_S), MemoryRecorder()
    walk = walk_of(as_model(Slow([CLICK, CLICK, ANSWER])), desktop=PaintedDesktop(), recorder=kept)
    walk.services = replace(walk.services, elements=Elements(told))
    await work(walk)
    assert [event.element["name"] for event in kept.of("action")] == ["Save", "Save"]


@pytest.mark.parametrize("masks", [(), (Mask("region", BUTTON),)])
async def test_an_approval_shows_the_accessible_name(masks: tuple[Mask, ...]) -> None:
    called = Elements(TellsTree(FORM)).name_lookup(masks)
    frame = await PaintedDesktop().look()
    told, points = await words_for("To click OK needs a yes", Click(BUTTON.center), frame, None, called)
    assert points == (BUTTON.center,)
    assert told == "To click OK needs a yes" + ("" if masks else "; the program calls it ‘Save’")
