"""Which step of a playbook does not fit and why, and where it resumes after the model acted: on values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnyCall, ClickCall, HotkeyCall, WriteAtCall
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound
from holo_tasks.scripts.misfit import Misfit, misfit_of
from holo_tasks.scripts.playbook import BadPlaybook, parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.resuming import Resumed, Resuming, Taken
from holo_tasks.scripts.rules import find, follow
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Line, Sight

PLAYBOOK = parse_playbook("""
name: orders
goals:
  save:
    params: {order: text}
    rules:
      - id: answer
        screen: [NOTE SAVED, "{order}"]
        do:
          - answer: saved
            thought: It is saved.
      - id: save
        screen: [ORDER RECORD, Customer, "{order}"]
        or_screen: [[ORDER SHEET, "{order}"]]
        once: true
        do:
          - click: Express
            thought: Tick Express.
          - click: {text: Save, or: [Store]}
            thought: Click Save.
            then: NOTE SAVED
      - id: tip
        screen: TIP OF THE DAY
        anytime: true
        do:
          - click: Close
            thought: Close the tip.
      - id: find
        screen: ORDER SEARCH
        once: true
        do:
          - click: {field: Order number}
            thought: Go to the number.
          - write: {text: "{order}", overwrite: true}
            thought: Type {order}.
""")
RULES = PLAYBOOK.rules_of("save")
VALUES = {"order": "AB-1207"}


def sight(*texts: str, field: bool = True) -> Sight:
    """Return a screen with texts one below another, and a field next to the first one."""
    lines = [Line(text, Box(20, 20 + 40 * row, 9 * len(text), 18)) for row, text in enumerate(texts)]
    return Sight(tuple(lines), Size(720, 420), fields=(Box(300, 20, 200, 18),) if field else ())


def at(screen: Sight, text: str) -> Point:
    return next(line.box.center for line in screen.lines if line.text == text)


def past(*thoughts: str) -> list[Turn]:
    return [Turn("click", thought, {"tool_name": "click"}) for thought in thoughts]


def said(history: Sequence[Turn], screen: Sight) -> str:
    return str(follow(PLAYBOOK, "save", VALUES, history, screen).step["thought"])


FOUND = past("Go to the number.", "Type AB-1207.")
SEARCH = sight("Order number", "ORDER SEARCH")
RECORD_TEXTS = ("ORDER RECORD", "Customer", "AB-1207")
RECORD = sight("ORDER RECORD", "Customer", "AB-1207", "Express", "Save")
SAVED = sight("NOTE SAVED", "AB-1207")


def unfit(history: Sequence[Turn], screen: Sight) -> Misfit:
    found = misfit_of(RULES, VALUES, history, screen)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("history", "screen", "rule", "place", "cause", "why"),
    [
        ([], sight("ORDER SEARCH"), "find", 0, "target", "‘Order number field’: it was not found on the screen"),
        (FOUND, sight("ORDER RECORD", "Customer", "AB-1207"), "save", 0, "target", "‘Express’"),
        (FOUND, sight("ORDER RECORD", "AB-1207", "Express"), "save", 0, "screen", "does not show ‘Customer’"),
        (
            FOUND,
            sight("ORDER RECORD", "Customer", "AB-1207", "Express", "Express"),
            "save",
            0,
            "target",
            "more than one",
        ),
        (
            [*FOUND, *past("Tick Express.", "Click Save.")],
            RECORD,
            "save",
            1,
            "effect",
            "the screen does not show ‘NOTE SAVED’",
        ),
    ],
)
def test_the_misfitting_step_is_named_with_its_reason(
    history: list[Turn], screen: Sight, rule: str, place: int, cause: str, why: str
) -> None:
    found = unfit(history, screen)
    assert (found.rule.id, found.place, found.cause) == (rule, place, cause)
    assert why in found.why
    assert found.action.thought in found.sentence
    assert "AB-1207" not in found.sentence
    assert not found.of_other_item


def test_the_right_screen_with_another_item_is_distinguished_from_another_screen() -> None:
    assert unfit(FOUND, sight("ORDER RECORD", "Customer", "CD-3391", "Express")).of_other_item
    assert not unfit(FOUND, sight("PAYROLL", "CD-3391")).near


def test_the_required_effect_of_a_step_is_awaited_before_all_rules_but_interruptions() -> None:
    done = [*FOUND, *past("Tick Express.", "Click Save.")]
    assert said(done, RECORD).startswith("The program is still busy")
    assert said(done, sight("TIP OF THE DAY", "Close")) == "Close the tip."
    assert said(done, SAVED) == "It is saved."
    waits = [Turn("wait", "w", {})] * 20
    assert "The screen does not show its effect: ‘NOTE SAVED’" in str(
        follow(PLAYBOOK, "save", VALUES, [*done, *waits], RECORD).step["tool_call"]["question"]
    )


@pytest.mark.parametrize(
    ("turns", "named"),
    [
        (
            [*past("Tick Express.", "Click Save."), *[Turn("wait", "w", {})] * 20],
            "‘Click Save.’ (rule save, done to ‘Save’): the screen does not show ‘NOTE SAVED’ after it",
        ),
        (
            [Turn("click", "Tick Express.", {"tool_name": "click"}, "The hands cannot do that.", True)] * 2,
            "‘Tick Express.’ (rule save, done to ‘Express’): it failed twice (The hands cannot do that.)",
        ),
    ],
    ids=["no effect", "failed twice"],
)
async def test_the_next_layer_learns_the_step_without_effect_its_target_and_the_visible_texts(
    turns: list[Turn], named: str
) -> None:
    brain = PlaybookBrain(PLAYBOOK, "save", VALUES, ScreenReader(None))
    decision = follow(PLAYBOOK, "save", VALUES, [*FOUND, *turns], RECORD)
    brain._past = [*FOUND, *turns]
    told = str(await brain._stop(Step.model_validate(decision.step), decision, RECORD))
    assert named in told
    assert "The screen reads: ORDER RECORD; Customer; AB-1207; Express; Save." in told
    failed = replace(RECORD, lines=[*RECORD.lines, Line("Could not save the note", Box(20, 300, 90, 20))])
    after = follow(PLAYBOOK, "save", VALUES, brain._past, failed, before=sight("ORDER RECORD", "Customer", "Save"))
    question = after.step["tool_call"]["question"]
    assert "The screen reads: Could not save the note; AB-1207; Express; ORDER RECORD; Customer; Save." in question
    masked = replace(RECORD, shown=sight("ORDER RECORD"))
    shown = follow(PLAYBOOK, "save", VALUES, brain._past, masked).step["tool_call"]["question"]
    assert "Customer" not in shown, "a masked text must not be quoted"


def test_an_alternative_target_is_used_and_two_matching_targets_are_refused() -> None:
    other = sight("ORDER SHEET", "AB-1207", "Express", "Store")
    assert said(FOUND, other) == "Tick Express."
    assert said([*FOUND, *past("Tick Express.")], other) == "Click Save."
    save = RULES[1].do[1].targets[0]
    assert find(save, VALUES, sight("Save", "Store")) == sight("Save", "Store").lines[0].box
    with pytest.raises(AmbiguousTarget):
        find(save, VALUES, sight("Save", "Save", "Store"))
    with pytest.raises(NotFound):
        find(save, VALUES, sight("Keep"))


def test_an_answer_cannot_have_a_required_effect() -> None:
    with pytest.raises(BadPlaybook, match="then: is for actions on the program"):
        parse_playbook(
            "name: x\ngoals: {g: {rules: [{id: r, do: [{answer: a, thought: t, then: x}]}]}}",
        )


def click(element: str = "it") -> ClickCall:
    return ClickCall(tool_name="click", element=element, x=1, y=1)


def resumed(
    misfit: Misfit, history: Sequence[Turn], before: Sight, now: Sight, call: AnyCall | None = None, **how: Any
) -> Resumed | None:
    """Return where the playbook resumes after the model's call led from one screen to another."""
    points = (how.pop("point"),) if "point" in how else ()
    taken = None if call is None else Taken(call, points, before)

    def follows(past: Sequence[Turn]) -> Any:
        return follow(PLAYBOOK, "save", VALUES, past, now)

    return Resuming(RULES, VALUES, misfit, follows, now, taken, **how).resumed(history)


MISSING = sight("ORDER RECORD", "Customer", "AB-1207", "Fast delivery", "Save")
STUCK = [*FOUND]


def test_a_press_on_a_control_with_the_steps_words_counts_as_the_step() -> None:
    renamed = sight("ORDER RECORD", "Customer", "AB-1207", "Express please (new)", "Save")
    found = resumed(unfit(STUCK, renamed), STUCK, renamed, renamed, click(), point=at(renamed, "Express please (new)"))
    assert found is not None
    assert (found.counted, said(found.history, renamed)) == (True, "Click Save.")


def test_no_step_is_skipped_because_a_later_one_fits() -> None:
    misfit = unfit(STUCK, MISSING)
    assert resumed(misfit, STUCK, MISSING, MISSING, click("Options"), point=at(MISSING, "Fast delivery")) is None
    opened = sight("ORDER RECORD", "Customer", "AB-1207", "Options", "Save", "Express")
    found = resumed(misfit, STUCK, MISSING, opened, click("Options"), point=at(MISSING, "Fast delivery"))
    assert found is not None
    assert (found.counted, said(found.history, opened)) == (False, "Tick Express.")


def test_closing_a_message_does_not_count_as_the_step() -> None:
    message = sight("PLEASE NOTE", "OK")
    misfit = unfit(STUCK, message)
    found = resumed(misfit, STUCK, message, RECORD, click("OK"), point=at(message, "OK"))
    assert found is not None
    assert (found.counted, said(found.history, RECORD)) == (False, "Tick Express.")


def test_the_steps_effect_counts_as_the_step_whatever_was_pressed() -> None:
    history = [*FOUND, *past("Tick Express.")]
    before = sight("ORDER RECORD", "Customer", "AB-1207", "Express", "Keep")
    keys = HotkeyCall(tool_name="hotkey", keys=["ctrl", "s"])
    found = resumed(unfit(history, before), history, before, SAVED, keys)
    assert found is not None
    assert (found.counted, said(found.history, SAVED)) == (True, "It is saved.")
    assert resumed(unfit(history, before), history, before, RECORD, keys) is None, "the effect of the keys is unknown"


def test_a_field_filled_in_by_one_call_is_not_filled_in_again() -> None:
    before = sight("Number of the order", "ORDER SEARCH")
    typed = WriteAtCall(tool_name="write_at", element="field", x=1, y=1, content="AB-1207")
    found = resumed(unfit([], before), [], before, RECORD, typed, point=Point(350, 25))
    assert found is not None
    assert [turn.thought for turn in found.history] == ["Go to the number.", "Type AB-1207."]
    other = typed.model_copy(update={"content": "CD-3391"})
    assert resumed(unfit([], before), [], before, before, other, point=Point(350, 25)) is None


def test_the_models_claim_counts_only_if_the_playbook_can_continue() -> None:
    misfit = unfit(STUCK, MISSING)
    found = resumed(misfit, STUCK, MISSING, MISSING, said_done=True)
    assert found is not None
    assert found.counted
    assert resumed(misfit, STUCK, MISSING, sight("PAYROLL"), said_done=True) is None
    done = [*FOUND, *past("Tick Express.", "Click Save.")]
    effect = unfit(done, RECORD)
    assert resumed(effect, done, RECORD, RECORD, said_done=True) is None
    assert resumed(effect, done, RECORD, SAVED) is not None
