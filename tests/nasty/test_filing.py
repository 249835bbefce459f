"""A careless model in the nasty programs: with what the library offers it does no harm, without it does."""

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


@pytest.mark.parametrize("kind", few(sorted(KINDS), first=0))  # one of them `test_suite` files in the same way
async def test_with_care_an_entry_is_filed_once_or_handed_over_where_it_has_to_be(
    prefect: str, model: RehearsalServer, tmp_path: Path, kind: str
) -> None:
    outcome = await file_one(kind, 0, model, tmp_path / "run", careful=True)
    assert as_expected(outcome), outcome


@pytest.mark.long
@pytest.mark.parametrize("variant", ["over the submit button", "over the first field"])
async def test_a_popup_that_nobody_declared_is_escaped_also_where_the_form_can_be_told(
    prefect: str, tmp_path: Path, variant: str
) -> None:
    others = [one for one in SCREENS.interruptions if one is not NOT_SAVED]
    screens = Screens(SCREENS.states, others, SCREENS.ways, home=SCREENS.home)
    with careless_model(1.5) as model:  # it comes up while one thinks
        seed = seed_of("popups", variant)
        outcome = await file_one("popups", seed, model, tmp_path / "run", careful=True, screens=screens)
    assert outcome.word == RIGHT, outcome
    met = [event.name for event in events(outcome.trace) if event.kind == "interruption"]
    assert met == ["unexpected window ‘Entry not saved’"]


HARMED = dict(kind_and_variant for kind_and_variant, expected in reversed(EXPECTED.items()) if expected.harm)
"""A way in which each program harms who has no care: the first one."""


@pytest.mark.parametrize("kind", few(sorted(HARMED)))
async def test_without_it_the_same_model_does_harm(
    prefect: str, model: RehearsalServer, tmp_path: Path, kind: str
) -> None:
    outcome = await file_one(kind, seed_of(kind, HARMED[kind]), model, tmp_path / "run", careful=False)
    assert outcome.word == WRONG, outcome
