"""A careless model in the nasty programs: with what the library offers it does no harm, without it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nasty_clerk import seed_of
from nasty_seeds import KINDS

from holo_tasks.playbooks.rehearsal import RehearsalServer
from tests.nasty.filing import careless_model, file_one
from tests.support.long import few

pytestmark = [pytest.mark.slow, pytest.mark.desktop]


@pytest.fixture(scope="module")
def model() -> Iterator[RehearsalServer]:
    with careless_model(0.4) as server:
        yield server


@pytest.mark.parametrize("kind", few(sorted(KINDS, key=lambda kind: kind != "double")))
async def test_with_care_an_entry_is_filed_once_or_handed_over(
    prefect: str, model: RehearsalServer, tmp_path: Path, kind: str
) -> None:
    outcome = await file_one(kind, 0, model, tmp_path / "run", careful=True)
    assert outcome.good, outcome


@pytest.mark.parametrize(
    ("kind", "variant"),
    few([("double", "unguarded"), ("popups", "over the submit button"), ("shift", "when complete"),
         ("lookalike", "filled"), ("puzzle", "gate"), ("frozen", "before filing")]),
)  # fmt: skip
async def test_without_it_the_same_model_does_harm(
    prefect: str, model: RehearsalServer, tmp_path: Path, kind: str, variant: str
) -> None:
    outcome = await file_one(kind, seed_of(kind, variant), model, tmp_path / "run", careful=False)
    assert outcome.word == "wrong effect", outcome
