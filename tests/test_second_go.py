"""A failed test gets one more run, alone; a broken test still fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import second_go


def of(tmp_path: Path, failed: list[str]) -> Path:
    kept = tmp_path / "lastfailed"
    kept.write_text(json.dumps(dict.fromkeys(failed, True)), encoding="utf-8")
    return kept


def test_a_test_that_passes_alone_is_reported_as_unsteady_and_does_not_fail_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert second_go.main(of(tmp_path, ["a::b[c d]"]), lambda test: test == "a::b[c d]") == 0
    assert "UNSTEADY: failed among the others, passed alone; see why: a::b[c d]" in capsys.readouterr().out


def test_a_test_that_fails_twice_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert second_go.main(of(tmp_path, ["a", "b"]), lambda test: test == "a") == 1
    assert "FAILED TWICE: b" in capsys.readouterr().out


@pytest.mark.parametrize("failed", [0, second_go.MOST + 1])
def test_many_failures_and_an_unknown_failure_get_no_second_run(tmp_path: Path, failed: int) -> None:
    assert second_go.main(of(tmp_path, [str(n) for n in range(failed)]), lambda _: True) == 1
    assert second_go.main(tmp_path / "nothing", lambda _: True) == 1


def test_a_failed_test_is_run_again(tmp_path: Path) -> None:
    broken = tmp_path / "test_broken.py"
    broken.write_text("def test_it():\n    assert False\n", encoding="utf-8")
    assert second_go.main(of(tmp_path, [f"{broken}::test_it"])) == 1
    broken.write_text("def test_it():\n    assert True\n", encoding="utf-8")
    assert second_go.main(of(tmp_path, [f"{broken}::test_it"])) == 0
