"""A model that errs once, on real programs: what its judge finds, and how it is counted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.erring import model
from benchmarks.erring.episodes import OFFICE
from benchmarks.erring.errors import Call, Erring, Kind, Meant, Slip
from benchmarks.erring.work import missing, run_episode
from tests.support.long import few

pytestmark = [pytest.mark.slow, pytest.mark.desktop]


def once(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the model make one error of a kind, at the first step at which it can be made."""
    left = [kind]

    def err(erring: Erring, meant: Meant, without: Meant | None, answers: Mapping[Kind, Call]) -> Slip | None:
        given = erring.of(kind, meant, without, answers) if left else None
        return Slip(left.pop(), meant.call, given) if given is not None else None

    monkeypatch.setattr(model, "drawn", lambda *_: random.Random(1))
    monkeypatch.setattr(model, "err", err)


@pytest.mark.parametrize("errs", [False, True])
async def test_a_wrong_effect_of_the_naive_loop_is_silently_wrong(
    errs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := missing("form-sequence-2"):
        pytest.skip(why)
    if errs:
        once("wrong_value", monkeypatch)
    came = await run_episode("naive", 0.0, "form-sequence-2", 3, tmp_path / "one")
    assert came.word == ("silently wrong" if errs else "done right"), came
    assert [each.kind for each in came.errors] == (["wrong_value"] if errs else [])
    assert bool(came.wrong) is errs
    assert not came.missing


async def test_a_wrong_digit_in_a_value_of_the_task_is_not_typed_with_nothing_declared(
    tmp_path: Path, prefect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := missing("double"):
        pytest.skip(why)
    once("wrong_value", monkeypatch)
    came = await run_episode("plain", 1.0, "double", 3, tmp_path / "one")
    assert came.word == "done right", came
    assert [(each.kind, each.guard) for each in came.errors] == [("wrong_value", "value of the task")]


async def test_with_nothing_declared_a_right_model_is_right_and_nothing_is_withheld(
    tmp_path: Path, prefect: str
) -> None:
    if why := missing("double"):
        pytest.skip(why)
    came = await run_episode("plain", 0.0, "double", 3, tmp_path / "one")
    assert came.word == "done right", came
    assert (came.errors, came.needless) == ((), {})
    assert came.actions >= 7


async def test_one_digit_in_a_field_is_no_press_of_a_declared_button(tmp_path: Path, prefect: str) -> None:
    if why := missing("form-sequence-2"):
        pytest.skip(why)
    came = await run_episode("declared", 0.0, "form-sequence-2", 0, tmp_path / "one")
    assert came.word == "done right", came
    assert came.needless == {}


@pytest.mark.parametrize("errs", [False, True])
@pytest.mark.parametrize("task", few(reversed(OFFICE), 2))
async def test_a_wrong_digit_in_a_file_or_a_letter_is_found_by_its_judge(
    task: str, errs: bool, tmp_path: Path, prefect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := missing(task):
        pytest.skip(why)
    if errs:
        once("wrong_value", monkeypatch)
    # The library would not type the wrong digit, so the naive loop shows the judge's finding.
    came = await run_episode("naive" if errs else "plain", 0.0, task, 0, tmp_path / "one")
    assert came.word == ("silently wrong" if errs else "done right"), came
    assert [each.kind for each in came.errors] == (["wrong_value"] if errs else [])
    assert bool(came.wrong) == errs
    assert came.needless.keys() <= {"screen changed"}, "a busy machine draws late, and the step is repeated"
