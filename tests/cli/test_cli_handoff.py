"""Hand-offs by the command line: a run that waits for a person, the list of waiting runs, and the answer."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.cli.commands import carry_out
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.person import CHOICES
from holo_tasks.desktop import tk_python
from holo_tasks.kill.run_registry import Registration, Running
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from tests.support.command_line import CommandLine, until

UNDONE = """
name: Only looks
goals:
  look:
    rules:
    - {id: answer, screen: APPROVED, do: [{answer: it is, thought: It is there.}]}
    - {id: ask, screen: WAITING, do: [{ask_human: "Is it there?", thought: Ask.}]}
"""
APPROVED_BY_FILE = """
import pathlib, sys, tkinter
root = tkinter.Tk()
label = tkinter.Label(root, text="WAITING", font=("DejaVu Sans", 24))
label.pack()
def look():
    if pathlib.Path(sys.argv[1]).exists():
        label.configure(text="APPROVED")
    root.after(50, look)
look()
root.mainloop()
"""


@pytest.mark.desktop
def test_a_person_finishes_what_the_playbook_cannot_match(cli: CommandLine, tmp_path: Path) -> None:
    playbook, program, approved = tmp_path / "look.yaml", tmp_path / "program.py", tmp_path / "approved"
    playbook.write_text(UNDONE)
    program.write_text(APPROVED_BY_FILE)
    handoffs = Handoffs(store_at(Path(cli.env["HOLO_HOME"])))
    app = shlex.join([tk_python(), str(program), str(approved)])
    options = ("--app", app, "--playbook-only", "--hand-off", "120", "--timeout", "90", "--json")
    running = cli.start("run", "Look.", "--playbook", f"{playbook}#look", *options)
    (waiting,) = until(handoffs.waiting)
    assert "Is it there?" in waiting.question
    approved.touch()
    assert cli("handoff", "resume", waiting.id, "--choice", "done", "--by", "ada").code == 0
    ended = running.end()
    assert (ended.code, ended.told["answer"]) == (0, "it is"), ended.complaint
    assert (ended.told["layer"], ended.told["model_calls"]) == ("person", 0)


@pytest.fixture
def waiter(tmp_path: Path) -> Iterator[Registration]:
    """The active run R-1."""
    made = Registration(tmp_path, Running.here("R-1", "Look.", "", ""))
    yield made
    made.close()


@pytest.fixture
def handoffs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiter: Registration) -> Handoffs:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    return Handoffs(store_at(tmp_path))


def test_the_list_contains_all_data_for_an_answer(handoffs: Handoffs, capsys: pytest.CaptureFixture[str]) -> None:
    assert carry_out(["handoff", "list"]) == 0
    assert capsys.readouterr() == ("", "holo-tasks: no hand-off is open\n")
    one = handoffs.open("Solve it", ("done", "give up"), run_id="R-1", timeout_s=60, token="T-1", live="http://here/x")
    carry_out(["handoff", "list"])
    said = capsys.readouterr().out
    for part in (one.id, "Solve it", "R-1", "T-1", "‘done’ or ‘give up’", "http://here/x", "UTC (in 60 s)"):
        assert part in said.replace("in 59 s", "in 60 s").replace("in 1 min", "in 60 s")
    carry_out(["handoff", "list", "--json"])
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["id"], told["choices"], told["live"]) == (one.id, ["done", "give up"], "http://here/x")


def test_an_answer_to_a_dead_run_is_refused(
    handoffs: Handoffs, waiter: Registration, capsys: pytest.CaptureFixture[str]
) -> None:
    id = handoffs.open("Solve it", ("done",), run_id="R-1", timeout_s=60).id
    waiter.close()  # as if its process had been killed
    carry_out(["handoff", "list"])
    assert "its run is gone and needs no answer" in capsys.readouterr().out
    carry_out(["handoff", "list", "--json"])
    assert json.loads(capsys.readouterr().out)[0]["lost"]
    with pytest.raises(InvalidUsage, match=f"Hand-off {id} needs no answer any more: its run R-1 is gone"):
        carry_out(["handoff", "resume", id])
    assert handoffs.find(id).state == "open"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["ID"], "needs --choice ‘approve’ or ‘refuse’"),
        (["ID", "--choice", "done"], "'done' is not a choice of this hand-off"),
        (["2222-2222", "--choice", "approve"], "There is no hand-off '2222-2222'"),
    ],
)
def test_an_invalid_answer_is_refused(handoffs: Handoffs, words: list[str], reason: str) -> None:
    id = handoffs.open("May it click OK?", ("approve", "refuse"), run_id="R-1", timeout_s=60).id
    with pytest.raises(InvalidUsage, match=re.escape(reason)):
        carry_out(["handoff", "resume", *[id if word == "ID" else word for word in words]])


@pytest.mark.parametrize("choices", [CHOICES, ("give up", "done"), ("yes",)])
def test_the_default_choice_is_done_or_the_only_one(handoffs: Handoffs, choices: tuple[str, ...]) -> None:
    id = handoffs.open("Solve it", choices, run_id="R-1", timeout_s=60).id
    assert carry_out(["handoff", "resume", id]) == 0
    answered = handoffs.find(id)
    assert (answered.state, answered.choice) == ("answered", "yes" if choices == ("yes",) else "done")


def test_a_second_answer_is_refused_with_the_name_of_the_first_person(
    handoffs: Handoffs, capsys: pytest.CaptureFixture[str]
) -> None:
    id = handoffs.open("Solve it", ("done",), run_id="R-1", timeout_s=60).id
    answer: list[Any] = ["handoff", "resume", id, "--by"]
    assert carry_out([*answer, "ada"]) == 0
    with pytest.raises(InvalidUsage, match=f"Hand-off {id} was answered already: ‘done’ by ada"):
        carry_out([*answer, "bob"])
