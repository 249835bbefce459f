"""The seeds' variants, the store's contents, and refused command lines of the nasty programs, without a screen."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.nasty.programs import PROGRAM
from benchmarks.nasty.programs.seeds import DELAYS_S, KINDS, WORDS, Entry, plan
from benchmarks.nasty.programs.store import NotAStore, Store
from holo_tasks.desktop import tk_python

APPS = Path(__file__).parent

ENTRY = Entry("AB-10482", "128.45", "Wrong amount")


@pytest.mark.parametrize("kind", KINDS)
def test_most_of_twenty_seeds_are_harmful_and_some_are_harmless(kind: str) -> None:
    plans = [plan(kind, seed) for seed in range(20)]
    assert plans == [plan(kind, seed) for seed in range(20)]
    assert 4 <= sum(each.harmless for each in plans) <= 7
    low, high = DELAYS_S[kind]
    assert all(low <= each.delay_s <= high for each in plans)
    assert len({each.entry for each in plans}) == len({each.place for each in plans}) == 20


def test_every_letter_of_the_words_can_be_drawn() -> None:
    pytest.importorskip("tkinter")
    from benchmarks.nasty.programs.puzzle_picture import _LETTERS

    assert set("".join(WORDS)) <= set(_LETTERS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "store.db")
    made.prepare()
    return made


def test_one_right_submission_is_the_only_right_outcome(store: Store) -> None:
    assert not store.filed_once(ENTRY)
    assert store.wrong_effects(ENTRY) == []
    store.note("expired")
    store.submit(ENTRY)
    assert store.filed_once(ENTRY)
    store.harm("deleted", "AB-10482")
    other = replace(ENTRY, amount="128.4")
    store.submit(other)
    store.submit(ENTRY)
    assert not store.filed_once(ENTRY)
    assert store.wrong_effects(ENTRY) == ["harm: deleted", f"filed another entry: {other}", "filed 2 times"]


def test_a_store_keeps_its_entries_over_a_restart(store: Store) -> None:
    store.submit(ENTRY)
    store.prepare()
    [submission] = store.submissions()
    assert submission.entry == ENTRY
    store.path.unlink()
    store.path.write_text("hello, this is no database of any kind")
    with pytest.raises(NotAStore):
        store.prepare()


REFUSED = [
    (["nice", "--store", "{store}"], "invalid choice: 'nice'"),
    (["deaf"], "--store"),
    (["deaf", "--store", "{store}", "--seed", "x"], "invalid int value"),
    (["deaf", "--store", "{store}", "--delay", "-1"], "from 0 to 3600"),
    (["deaf", "--store", "{folder}/none/store.db"], "as store"),
    (["deaf", "--store", "{text}"], "as store"),
    (["expiry", "--store", "{store}"], "no password"),
    (["expiry", "--store", "{store}", "--secret-file", "{folder}/none"], "secret file"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_a_startup_error_is_one_line_and_exit_code_2(
    tmp_path: Path,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # it replaces the first entry by its own folders when loaded
    monkeypatch.delenv("CASHBOOK_PASSWORD", raising=False)
    program = import_module("benchmarks.nasty.programs.program")
    (tmp_path / "text").write_text("hello, this is no database of any kind")
    places = {"store": tmp_path / "store.db", "folder": tmp_path, "text": tmp_path / "text"}
    try:
        code = program.main([argument.format(**places) for argument in arguments])
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr()
    assert code == 2
    [line] = told.err.splitlines()
    assert said in line
    assert told.out == ""


def test_without_a_display_the_program_ends_with_one_line_and_code_2(tmp_path: Path) -> None:
    command = [tk_python(), str(PROGRAM), "deaf", "--store", str(tmp_path / "store.db")]
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "DISPLAY" in line
    assert done.stdout == ""
