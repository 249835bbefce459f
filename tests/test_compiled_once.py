"""One of several workers compiles the tests, unless they are compiled already."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.compiled_once import compiled_once


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", False)


def test_the_first_worker_compiles_and_the_next_one_waits(tmp_path: Path) -> None:
    told: list[str] = []

    def next_one() -> None:
        with compiled_once("run", tmp_path) as first:
            told.append(f"next, first: {first}")

    waiting = threading.Thread(target=next_one)
    with compiled_once("run", tmp_path) as first:
        assert first
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        told.append("compiled")
    waiting.join(60)
    assert told == ["compiled", "next, first: False"]


def test_no_worker_waits_if_the_tests_are_compiled_or_no_bytecode_is_kept_or_there_is_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with compiled_once("", tmp_path) as first:
        assert not first
    with monkeypatch.context() as telling:
        telling.setattr("sys.dont_write_bytecode", True)
        with compiled_once("run", tmp_path) as first:
            assert not first
    known = tmp_path / "vision" / "__pycache__"
    known.mkdir(parents=True)
    (known / "test_sight.cpython-311-pytest-9.2.0.pyc").touch()
    with compiled_once("run", tmp_path) as first:
        assert not first
    assert not list(tmp_path.glob("holo-compiled-*"))
