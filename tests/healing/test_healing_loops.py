"""A goal with a loop is healed only by what holds for every item of its list, and targets by place are guarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.healing.apply import apply
from holo_tasks.healing.certainty import NotProposed
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.proposal import ModelsStep, Proposal, proposal_of
from holo_tasks.healing.replay_results import FollowedGoal, StoredResults, store_results
from holo_tasks.scripts.loops import places_in, unrolled
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.playbook import ListStep, Loop, load_playbook, parse_playbook
from holo_tasks.scripts.step_outcome import Outcome, StepOutcome
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.elements import tree_of

TEXT = """\
name: order
goals:
  enter:
    params: {customer: text}
    lists: {lines: {article: text, amount: int}}
    steps:
      - click: New order
      - each: lines
        steps:
          - click: Add line   # moved before
            after: Line
          - click: {text: Edit, right_of: "{lines.article}"}
            after: AMOUNT
      - click: Send
        after: Sent
      - answer: sent
"""
LINES = [{"article": "ink", "amount": 2}, {"article": "pens", "amount": 3}, {"article": "glue", "amount": 1}]
AT = Point(65, 305)
SIZE = Size(720, 420)


def screen(*texts: tuple[int, int, str], elements: ElementTree | None = None) -> Sight:
    lines = [Line(text, Box(left, top, 9 * len(text), 18)) for left, top, text in texts]
    return Sight(tuple(lines), SIZE, elements=elements)


RENAMED = screen((60, 300, "Append"), (20, 50, "ORDER"))


def model_did(place: str, item: int, seen: Sight = RENAMED, at: Point = AT) -> ModelsStep:
    """Return a step of the loop that the model did for an item, by the place of the written step."""
    playbook, values = unrolled(parse_playbook(TEXT), "enter", {"customer": "Berg", "lines": LINES})
    places = places_in(parse_playbook(TEXT).goals["enter"], values)
    rule_id = next(name for name, at in places.items() if (at.rule, at.number) == (place, item))
    rule = next(rule for rule in playbook.rules_of("enter") if rule.id == rule_id)
    misfit = Misfit(rule, 0, "target", "it is gone")
    return ModelsStep("enter", misfit, values, at, seen, True, True, "runs/1", None, places[rule_id])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "order.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def stored(file: Path, did: Sequence[ModelsStep], fitted: Sequence[ModelsStep] = ()) -> StoredResults:
    def outcome(one: ModelsStep, how: Outcome) -> StepOutcome:
        return StepOutcome(one.misfit.rule.id, 0, one.misfit.action.thought, how)

    outcomes = [*(outcome(one, "healed") for one in did), *(outcome(one, "fitted") for one in fitted)]
    values = dict((did or fitted)[0].values)
    given = [(replace(one, place=None), b"new") for one in did]
    return store_results(file, "apply", FollowedGoal("enter", outcomes, (), given, values))


def test_steps_of_a_loop_are_found_in_the_file() -> None:
    goal = parse_playbook(TEXT).goals["enter"]
    _, values = unrolled(parse_playbook(TEXT), "enter", {"customer": "Berg", "lines": LINES})
    places = places_in(goal, values)
    assert [(at.rule, at.number) for at in places.values()] == [
        *(("step-1", 0), ("step-2", 1), ("step-3", 1), ("step-2", 2), ("step-3", 2), ("step-2", 3), ("step-3", 3)),
        *(("step-4", 0), ("step-5", 0)),
    ]
    assert places["step-5"].foreign == {"lines_1_article", "lines_1_amount", "lines_3_article", "lines_3_amount"}
    assert places["step-5"].as_written("Edit {lines_2_article} {lines_2_amount:0.00}") == (
        "Edit {lines.article} {lines.amount:0.00}"
    )


def test_a_control_that_was_renamed_for_all_items_is_changed_in_the_loop(file: Path) -> None:
    result = stored(file, [model_did("step-2", number) for number in (1, 2, 3)])
    (one,) = result.applied
    assert (one.rule, one.old, one.new) == ("step-2", "Add line", "Append")
    assert file.read_text() == TEXT.replace("click: Add line ", "click: {text: Add line, or: [Append]} ")
    goal, before = load_playbook(file).goals["enter"], parse_playbook(TEXT).goals["enter"]
    assert [type(step) for step in goal.steps] == [ListStep, Loop, ListStep, ListStep]
    assert (goal.lists, goal.params, goal.steps[2:]) == (before.lists, before.params, before.steps[2:])


def test_a_control_that_was_renamed_for_one_item_is_left_to_a_person(file: Path) -> None:
    (one,) = stored(file, [model_did("step-2", 1)]).proposed
    assert not one.verified
    assert file.read_text() == TEXT


def test_a_change_that_other_items_do_not_need_is_not_proposed(file: Path) -> None:
    result = stored(file, [model_did("step-2", 2)], [model_did("step-2", 1), model_did("step-2", 3)])
    assert not result.proposed
    assert "the step fitted for another item of the list" in result.said[0]


def test_changes_that_differ_between_items_are_not_proposed(file: Path) -> None:
    other = screen((60, 300, "Insert"), (20, 50, "ORDER"))
    result = stored(file, [model_did("step-2", 1), model_did("step-2", 2, other), model_did("step-2", 3)])
    assert not result.proposed
    assert "in several ways" in result.said[0]


def test_a_step_outside_of_the_loop_is_changed_at_its_place(file: Path) -> None:
    (one,) = stored(file, [model_did("step-4", 0)]).applied
    assert (one.rule, one.new) == ("step-4", "Append")
    assert "click: {text: Send, or: [Append]}" in file.read_text()
    assert load_playbook(file).goals["enter"].steps[1] == parse_playbook(TEXT).goals["enter"].steps[1]


def test_a_target_keeps_the_names_of_the_values_of_its_item() -> None:
    rows = screen((20, 260, "ink"), (20, 300, "pens"), (200, 260, "Change"), (200, 300, "Change"))
    found = proposal_of(model_did("step-3", 2, rows, Point(210, 305)))
    assert found is not None
    assert found.new == {"text": "Change", "right_of": "{lines.article}"}


@pytest.mark.parametrize(
    ("place", "seen", "why"),
    [
        ("step-3", screen((60, 300, "Change")), "does not name the item"),
        ("step-2", screen((20, 300, "Append"), (20, 340, "pens"), (160, 340, "x")), None),
        ("step-2", screen((60, 300, "Append ink")), "another item of the list"),
        ("step-2", screen((60, 300, "Append pens")), "does not name the item"),
        (
            "step-2",
            screen((60, 300, "Append"), (60, 60, "Append"), (20, 340, "x"), (0, 300, "Rows")),
            "is next to a text",
        ),
        (
            "step-2",
            screen((60, 300, "Append"), elements=tree_of(("cell", "Append", Box(50, 295, 90, 30)))),
            "in a row of a table",
        ),
        ("step-4", screen((60, 300, "Send ink")), "another item of the list"),
    ],
)
def test_a_control_that_may_belong_to_one_item_is_not_proposed(place: str, seen: Sight, why: str | None) -> None:
    step = model_did(place, 0 if place == "step-4" else 2, seen)
    if why is None:
        assert proposal_of(step) is not None
        return
    with pytest.raises(NotProposed, match=why):
        proposal_of(step)


def test_counts_are_kept_by_the_steps_of_the_file(file: Path) -> None:
    stored(file, [], [model_did("step-2", 1), model_did("step-2", 2)])
    (counts,) = HealingFolder(file).fits.goals["enter"].steps.items()
    assert (counts[0], counts[1].fitted, counts[1].step) == ("step-2.0", 2, "Click Add line.")


def test_a_proposal_for_a_step_of_a_loop_that_was_changed_is_refused(file: Path) -> None:
    (one,) = stored(file, [model_did("step-2", 1)]).proposed
    file.write_text(TEXT.replace("click: Add line", "click: New line"))
    with pytest.raises(InvalidUsage, match="was changed since"):
        apply(file, one)


PLACED = """\
name: sizes
goals:
  pick:
    params: {order: text}
    steps:
      - click: {role: radio button, within: Size, place: 2 of 3}
        after: Chosen
      - answer: done
"""


def placed(tree: ElementTree | None, *texts: tuple[int, int, str]) -> Proposal | None:
    rule = parse_playbook(PLACED).rules_of("pick")[-1]
    seen = screen(*texts, elements=tree)
    return proposal_of(
        ModelsStep("pick", Misfit(rule, 0, "target", "more"), {"order": "A-1"}, AT, seen, True, True, "r")
    )


def test_a_target_by_place_is_changed_only_to_a_control_of_its_role_and_by_a_person() -> None:
    radio = tree_of(("radio button", "Large", Box(50, 295, 90, 30)))
    found = placed(radio, (60, 300, "Large"))
    assert found is not None
    assert not found.verified
    for tree in (None, tree_of(("button", "Large", Box(50, 295, 90, 30)))):
        with pytest.raises(NotProposed, match="by its place among equal ones"):
            placed(tree, (60, 300, "Large"))


def test_a_target_by_place_in_a_row_of_a_table_is_not_changed() -> None:
    tree = tree_of(("row", "", Box(0, 290, 700, 40)), ("radio button", "Large", Box(50, 295, 90, 30)))
    inside = replace(tree, elements=(*tree.elements[:2], replace(tree.elements[2], parent=1)))
    with pytest.raises(NotProposed, match="row of a table"):
        placed(inside, (60, 300, "Large"))
