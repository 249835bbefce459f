"""A conversation only grows. If it no longer fits, its oldest steps are removed permanently and summarized."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.prompts.transcript import ModelStep, Observed, StepResult, Strip, Transcript, evicted
from holo_tasks.loop.ask_model.predict import prompt_tokens
from holo_tasks.models.profile import profile_for
from tests.support.shots import MemoryModel, a_step, after_steps, as_model, pictures_in, shot, walk_of

BUDGETS = st.integers(1, 5)
HOLO = profile_for("holo3-1-35b-a3b")


def noted(count: int) -> Transcript:
    return after_steps([a_step(note=f"fact {number}") for number in range(count)])


@given(st.integers(0, 400), BUDGETS, st.integers(1, 5))
def test_one_more_image_never_restores_an_evicted_one(images: int, budget: int, batch: int) -> None:
    gone, later = evicted(images, budget=budget, batch=batch), evicted(images + 1, budget=budget, batch=batch)
    assert gone <= later
    assert images - gone <= budget
    assert images == 0 or gone < images


def test_images_are_evicted_singly_or_in_pairs() -> None:
    assert [n - evicted(n, budget=3) for n in range(9)] == [0, 1, 2, 3, 3, 3, 3, 3, 3]
    assert [evicted(n, budget=3, batch=2) for n in range(9)] == [0, 0, 0, 0, 2, 2, 4, 4, 6]


MOVES = st.lists(st.sampled_from(["step", "step", "step", "strip", "compact"]), max_size=60)


@given(MOVES, BUDGETS, st.integers(1, 5))
def test_no_evicted_image_returns(moves: list[str], budget: int, batch: int) -> None:
    transcript, seen, gone = Transcript("Do it.").extended(Observed(shot(0))), 1, set[str]()
    for move in moves:
        if move == "compact":
            transcript = transcript.compacted() or transcript
        else:
            strip = Strip(shot(seen + 1), 4) if move == "strip" else None
            transcript = transcript.extended(
                ModelStep(a_step()), StepResult("click", "Done."), Observed(shot(seen), strip)
            )
            seen += 2
        pictures = transcript.pictures
        shown = pictures[transcript.evicted(budget=budget, batch=batch) :]
        assert 1 <= len(shown) <= budget
        assert shown[-1] == transcript.pictures[-1], "the newest screen is always sent"
        assert not {each.sha256 for each in shown} & gone
        gone |= {each.sha256 for each in pictures[: len(pictures) - len(shown)]}
        if move == "strip" and budget > 1:
            assert shown[-2] == pictures[-2], "a new strip is sent"


def test_a_strip_counts_as_a_picture_and_comes_before_its_screen() -> None:
    transcript = after_steps([a_step()])
    *entries, newest = transcript.entries
    assert isinstance(newest, Observed)
    transcript = Transcript("t", (*entries, Observed(newest.shot, Strip(shot(9), 1))))
    assert transcript.pictures == (shot(0), shot(9), shot(1))
    assert [transcript.evicted(budget=budget, batch=1) for budget in (1, 2, 3)] == [2, 1, 0]
    assert transcript.turns[0].after == shot(1)


def test_turns_have_the_screens_before_and_after() -> None:
    steps = [a_step(note=str(number)) for number in range(3)]
    turns = after_steps(steps).turns
    assert [(turn.before, turn.step, turn.after) for turn in turns] == [
        (shot(number), step, shot(number + 1)) for number, step in enumerate(steps)
    ]
    assert Transcript("t").turns == ()


@given(st.integers(0, 60))
def test_compaction_drops_the_oldest_steps_and_counts_them(count: int) -> None:
    full = noted(count)
    made = full.compacted()
    if made is None:
        assert count <= 1, "the last step is never removed"
        return
    assert 0 < made.left_out < count
    assert made.entries == full.entries[-len(made.entries) :]
    assert isinstance(made.entries[0], Observed)
    assert len(made.turns) == count - made.left_out
    assert len(made.turns) >= min(4, count - 1)
    assert made.notes == tuple(f"fact {number}" for number in range(made.left_out))
    assert f"Earlier steps left out: {made.left_out}." in made.opening
    assert made.opening.startswith(full.task)


def test_repeated_compaction_adds_counts_and_keeps_each_note_once() -> None:
    steps = [a_step(note=note) for note in ["a", "b", "a", None, " b ", "", "c", "d", "e", "f", "g", "h"]]
    made: Transcript | None = after_steps(steps)
    while made is not None:
        last, made = made, made.compacted()
    assert last.left_out == len(steps) - len(last.turns)
    assert last.opening.endswith("Earlier steps left out: 11. Noted in them:\n- a\n- b\n- c\n- d\n- e\n- f\n- g")
    assert "Noted" not in Transcript("t", left_out=3).opening


def test_the_newest_notes_are_kept_if_there_are_too_many() -> None:
    notes = tuple(f"{number:04} " + "ä" * 500 for number in range(100))
    made = after_steps([a_step(note=note) for note in notes]).compacted(12_000)
    assert made is not None
    assert made.left_out == 50
    assert made.notes == notes[50 - len(made.notes) : 50]
    assert 11_000 < len(made.opening.encode()) <= 12_100
    long = after_steps([a_step(note="ä" * 50_000), *[a_step()] * 9]).compacted(1_000)
    assert long is not None
    assert 900 < len(long.opening.encode()) < 1_100


NOTE = "Beleg Nr. 4711: 1.234,56 € an Müller – geprüft, 記録済み. "


ROOMS = [(4_096, 1_024), (8_192, 4_096), (16_384, 4_096)]


@pytest.mark.parametrize(
    ("context", "most", "dialect"),
    [
        *((*room, dialect) for room in ROOMS for dialect in ("structured", "tools")),
        (65_536, 32_768, "structured"),
        pytest.param(65_536, 32_768, "tools", marks=pytest.mark.long),
    ],
)
def test_hundreds_of_steps_with_long_notes_always_fit(context: int, most: int, dialect: str) -> None:
    client = MemoryModel([])
    tools = ("click",) if context < 8_192 else None
    model = as_model(client, dialect=dialect, context_tokens=context, max_output_tokens=most, tools=tools)
    walk = walk_of(model, transcript=Transcript("Post all receipts.").extended(Observed(shot(0))))
    gone: set[str] = set()
    before: list[Any] = []
    for number in range(1, 301):
        request = walk.request()
        allowed = int(request.body["max_tokens"])
        assert prompt_tokens(request) + allowed <= context
        assert allowed >= min(most, 4_096, context // 4)
        shown = set(pictures_in(request.body))
        assert len(request.shots) == len(shown) <= 3
        assert not shown & gone
        gone |= {uri for body in before for uri in pictures_in({"messages": [body]})} - shown
        before = request.body["messages"]
        step = a_step(note=f"{number}: {NOTE * 9}"[:500])
        walk.transcript = walk.transcript.extended(
            ModelStep(step), StepResult("click", "Done: click."), Observed(shot(number))
        )
    assert walk.transcript.left_out + len(walk.transcript.turns) == 300
    assert len(walk.transcript.turns) >= 4
    assert "Post all receipts." in walk.transcript.opening
    assert f"- {walk.transcript.left_out}: Beleg" in walk.transcript.opening, "the last note is kept"


def test_prompts_mostly_share_their_prefix() -> None:
    """This serves the server's prefix cache: half of the steps go at once, and images go in pairs."""
    model = as_model(MemoryModel([]))
    walk = walk_of(model, transcript=Transcript("Post all receipts.").extended(Observed(shot(0))))
    same, before = 0, list[Any]()
    for number in range(1, 201):
        messages = walk.request().body["messages"]
        same += messages[: len(before)] == before
        before = messages
        step = a_step(note=f"{number}: {NOTE * 9}"[:500])
        walk.transcript = walk.transcript.extended(
            ModelStep(step), StepResult("click", "Done: click."), Observed(shot(number))
        )
    assert same >= 90


@pytest.mark.parametrize("steps", [0, 3, 50])
def test_a_goal_that_does_not_fit_is_refused_with_a_message(steps: int) -> None:
    transcript = after_steps([a_step(note="n")] * steps, task="word " * 50_000)
    walk = walk_of(as_model(MemoryModel([])), transcript=transcript)
    with pytest.raises(InvalidUsage, match="shorten the goal"):
        walk.request()


def test_one_huge_reply_does_not_end_the_run() -> None:
    """A model that writes 40,000 characters into a field needs room for them only once."""
    long = a_step("write", content="x" * 40_000)
    for count in (1, 2, 5):
        walk = walk_of(as_model(MemoryModel([])), transcript=after_steps([long] * count + [a_step()]))
        request = walk.request()
        assert prompt_tokens(request) + request.body["max_tokens"] <= HOLO.context_tokens
        assert walk.transcript.turns[-1].step == a_step()
