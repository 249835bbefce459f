"""A model that errs once, on real programs: what its judge finds, and how it is counted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.erring import model
from benchmarks.erring.errors import Call, Erring, Kind, Meant, Slip
from benchmarks.erring.work import why_not, worked

pytestmark = [pytest.mark.slow, pytest.mark.desktop]
SEED = 144
"""With this seed the model errs at the first step of `click-button`, and at no other."""


def once(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the model make one error of a kind, at the first step at which it can be made."""
    left = [kind]

    def err(erring: Erring, meant: Meant, without: Meant | None, answers: Mapping[Kind, Call]) -> Slip | None:
        given = erring.of(kind, meant, without, answers) if left else None
        return Slip(left.pop(), meant.call, given) if given is not None else None

    monkeypatch.setattr(model, "drawn", lambda *_: random.Random(1))
    monkeypatch.setattr(model, "err", err)


@pytest.mark.parametrize(("rate", "word"), [(0.0, "done right"), (0.1, "silently wrong")])
async def test_a_click_of_the_naive_loop_on_a_neighbour_is_silently_wrong(
    rate: float, word: str, tmp_path: Path
) -> None:
    if why := why_not("click-button"):
        pytest.skip(why)
    came = await worked("naive", rate, "click-button", SEED, tmp_path / "one")
    assert came.word == word, came
    assert [each.kind for each in came.errors] == (["neighbour"] if rate else [])
    assert bool(came.wrong) is bool(rate)
    assert not came.missing


async def test_a_digit_that_the_model_means_is_silently_wrong_with_nothing_declared(
    tmp_path: Path, prefect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := why_not("double"):
        pytest.skip(why)
    once("wrong_value", monkeypatch)
    came = await worked("plain", 1.0, "double", 3, tmp_path / "one")
    assert came.word == "silently wrong", came
    assert [each.kind for each in came.errors] == ["wrong_value"]
    assert came.wrong[0].startswith("filed another entry")


async def test_with_nothing_declared_a_right_model_is_right_and_nothing_is_withheld(
    tmp_path: Path, prefect: str
) -> None:
    if why := why_not("double"):
        pytest.skip(why)
    came = await worked("plain", 0.0, "double", 3, tmp_path / "one")
    assert came.word == "done right", came
    assert (came.errors, came.needless) == ((), {})
    assert came.actions >= 7
