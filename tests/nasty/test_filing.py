"""With the library's guards a careless model does no harm in the nasty programs; without them it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nasty_clerk import seed_of

from benchmarks.nasty.careful import NOT_SAVED, SCREENS
from benchmarks.nasty.expected import EXPECTED, RIGHT, WRONG, as_expected
from benchmarks.nasty.programs.seeds import KINDS
from holo_tasks import Screens
from holo_tasks.rehearsal.server import RehearsalServer
from tests.nasty.filing import careless_model, file_one
from tests.support.agents import events
from tests.support.long import few

pytestmark = [pytest.mark.slow, pytest.mark.desktop]


@pytest.fixture(scope="module")
def model() -> Iterator[RehearsalServer]:
    with careless_model(0.4) as server:
        yield server


@pytest.mark.parametrize("kind", few(sorted(KINDS), first=0))  # `test_suite` files in the same way in one more
async def test_guarded_runs_file_an_entry_once_or_hand_it_over(
    prefect: str, model: RehearsalServer, tmp_path: Path, kind: str
) -> None:
    outcome = await file_one(kind, 0, model, tmp_path / "run", careful=True)
    assert as_expected(outcome), outcome


@pytest.mark.long
@pytest.mark.parametrize("variant", ["over the submit button", "over the first field"])
async def test_an_undeclared_popup_is_closed_with_escape_even_if_the_form_is_recognized(
    prefect: str, tmp_path: Path, variant: str
) -> None:
    others = [one for one in SCREENS.interruptions if one is not NOT_SAVED]
    screens = Screens(SCREENS.states, others, SCREENS.ways, home=SCREENS.home)
    with careless_model(1.5) as model:  # the popup appears while the model answers
        seed = seed_of("popups", variant)
        outcome = await file_one("popups", seed, model, tmp_path / "run", careful=True, screens=screens)
    assert outcome.word == RIGHT, outcome
    met = [event.name for event in events(outcome.trace) if event.kind == "interruption"]
    assert met == ["unexpected window ‘Entry not saved’"]


HARMED = dict(kind_and_variant for kind_and_variant, expected in reversed(EXPECTED.items()) if expected.harm)
"""The first variant of each program that harms an unguarded run."""


@pytest.mark.parametrize("kind", few(sorted(HARMED)))
async def test_unguarded_runs_of_the_same_model_do_harm(
    prefect: str, model: RehearsalServer, tmp_path: Path, kind: str
) -> None:
    outcome = await file_one(kind, seed_of(kind, HARMED[kind]), model, tmp_path / "run", careful=False)
    assert outcome.word == WRONG, outcome
