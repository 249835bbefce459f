"""Questions of `holo-tasks record` at its end: names of texts, texts that never change, and secrets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.by_hand.typed_secrets import TypedSecret
from holo_tasks.cli.compile import compile_traces
from holo_tasks.cli.record_command import record as command
from holo_tasks.cli.record_command.person import StandardInput
from holo_tasks.compiler.parameters import NO_NAME
from holo_tasks.scripts.playbook import load_playbook
from tests.support.recorded_runs import Act, page, record


class Asked(StandardInput):
    """A person with these answers in order; without answers, a terminal without a person."""

    def __init__(self, *says: str) -> None:
        super().__init__(there=bool(says), ends=True)
        self.says, self.questions = list(says), list[str]()

    def ask(self, question: str) -> str:
        self.questions.append(question)
        return self.says.pop(0)


TYPED = {"name": "Baker Ltd", "currency": "GBP", "city": "Leeds"}


def test_each_text_gets_the_answered_name_or_stays_fixed() -> None:
    person = Asked("supplier", "-", "")
    assert command._names(TYPED, person) == {"name": "supplier", "currency": "", "city": "city"}
    assert [question.partition("’")[0] for question in person.questions] == ["‘Baker Ltd", "‘GBP", "‘Leeds"]
    assert all(f"the parameter {name}." in said for name, said in zip(TYPED, person.questions, strict=True))


def test_an_invalid_or_duplicate_name_is_asked_for_again() -> None:
    person = Asked("A b", "supplier", "supplier", "town", "-")
    assert command._names(TYPED, person) == {"name": "supplier", "currency": "town", "city": ""}
    again = [said for said in person.questions if "Each has its own" in said]
    assert all(said.startswith(NO_NAME.format(wrong)) for wrong, said in zip(("A b", "supplier"), again, strict=True))
    person = Asked("city", "", "")
    assert command._names(TYPED, person) == {"name": "city", "currency": "currency", "city": "city_2"}


def test_a_long_text_is_shortened_to_one_line() -> None:
    person = Asked("")
    command._names({"note": "two\nlines " + "x" * 200}, person)
    assert "‘two lines xxx" in person.questions[0]
    assert len(person.questions[0]) < 160


def typed(step: int, *, sure: bool) -> TypedSecret:
    found: Any = SimpleNamespace(step=step, sure=sure)
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("says", "kept"),
    [(("no",), [2]), (("N",), [2]), (("yes",), [2, 5]), (("",), [2, 5]), (("what?",), [2, 5]), ((), [2, 5])],
)
def test_hidden_text_is_a_secret_unless_a_person_denies_it(
    says: Sequence[str], kept: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    person = Asked(*says)
    found = command._secrets([typed(2, sure=True), typed(5, sure=False)], person)
    assert [each.step for each in found] == kept
    assert len(person.questions) == len(says), "no question is asked about a password field"
    assert all("step 5" in question for question in person.questions)
    assert ("give --param NAME=VALUE" in capsys.readouterr().err) == (not says), "no person was there to ask"


def test_an_answer_not_found_on_the_screen_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [SimpleNamespace(text="Saved as 4711")]
    monkeypatch.setattr(command, "read", lambda last, reader: SimpleNamespace(lines=lines))
    teller: Any = SimpleNamespace(reader=None)
    last: Any = None
    person = Asked("4712", "4711")
    assert command._answer("5000", last, teller, person) == "4711"
    assert [question.partition(" was not")[0] for question in person.questions] == ["'5000'", "'4712'"]
    assert command._answer("5000", last, teller, Asked("")) == "", "none is an answer"
    assert command._answer("5000", last, teller, Asked()) == "5000", "nobody is there: the recording is kept"


def test_the_answered_names_are_written_to_the_playbook(tmp_path: Path) -> None:
    def form(name: str, currency: str) -> Any:
        labels = [(20, 20, "NEW SUPPLIER"), (20, 80, "Name"), (20, 120, "Currency"), (60, 200, "Keep")]
        return page(*labels, fields=[(150, 78, name), (150, 118, currency)])

    acts = [
        Act(form("", ""), click="Name"),
        Act(form("", ""), write="Baker Ltd"),
        Act(form("Baker Ltd", ""), click="Currency"),
        Act(form("Baker Ltd", ""), write="GBP"),
        Act(form("Baker Ltd", "GBP"), click="Keep"),
    ]
    stored = page((20, 20, "SUPPLIER STORED"), (20, 80, "It is kept from now on"))
    trace, out, person = (
        record(tmp_path, "by-hand", "add one", acts, stored, ""),
        tmp_path / "made.yaml",
        Asked("who", "-"),
    )
    ask = lambda values: command._names(values, person)  # noqa: E731
    compile_traces([trace], out, "add-one", (), None, tmp_path, as_json=True, ask=ask)
    assert load_playbook(out).goals["add-one"].params == {"who": "text"}
    assert "text: '{who}'" in out.read_text()
    assert "text: GBP" in out.read_text()
    assert len(person.questions) == 2
