"""What `holo-tasks record` asks at its end: what texts are called, which never change, and what is a secret."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.by_hand.hidden import Typed
from holo_tasks.cli.compile import compile_traces
from holo_tasks.cli.record_command import record as command
from holo_tasks.cli.record_command.person import Person
from holo_tasks.compiler.parameters import NO_NAME
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.playbook import load_playbook
from tests.support.recorded_runs import Act, page, record


class Asked(Person):
    """Somebody who says these things, one after the other; nobody, where there is nothing to say."""

    def __init__(self, *says: str) -> None:
        super().__init__(there=bool(says), ends=True)
        self.says, self.questions = list(says), list[str]()

    def ask(self, question: str) -> str:
        self.questions.append(question)
        return self.says.pop(0)


TYPED = {"name": "Baker Ltd", "currency": "GBP", "city": "Leeds"}


def test_each_text_is_asked_for_and_gets_the_name_that_is_said_or_none_if_it_never_changes() -> None:
    person = Asked("supplier", "-", "")
    assert command._names(TYPED, person) == {"name": "supplier", "currency": "", "city": "city"}
    assert [question.partition("’")[0] for question in person.questions] == ["‘Baker Ltd", "‘GBP", "‘Leeds"]
    assert all(f"the parameter {name}." in said for name, said in zip(TYPED, person.questions, strict=True))


def test_a_name_that_is_none_or_is_taken_is_asked_for_again() -> None:
    person = Asked("A b", "supplier", "supplier", "town", "-")
    assert command._names(TYPED, person) == {"name": "supplier", "currency": "town", "city": ""}
    again = [said for said in person.questions if "Each has its own" in said]
    assert all(said.startswith(NO_NAME.format(wrong)) for wrong, said in zip(("A b", "supplier"), again, strict=True))
    person = Asked("city", "", "")
    assert command._names(TYPED, person) == {"name": "city", "currency": "currency", "city": "city_2"}


def test_a_long_text_is_shown_in_one_line_and_not_all_of_it() -> None:
    person = Asked("")
    command._names({"note": "two\nlines " + "x" * 200}, person)
    assert "‘two lines xxx" in person.questions[0]
    assert len(person.questions[0]) < 160


def typed(step: int, *, sure: bool) -> Typed:
    found: Any = SimpleNamespace(step=step, sure=sure)
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("says", "kept"),
    [(("no",), [2]), (("N",), [2]), (("yes",), [2, 5]), (("",), [2, 5]), (("what?",), [2, 5]), ((), [2, 5])],
)
def test_what_does_not_show_is_a_secret_unless_somebody_says_no(
    says: Sequence[str], kept: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    person = Asked(*says)
    found = command._secrets([typed(2, sure=True), typed(5, sure=False)], person)
    assert [each.step for each in found] == kept
    assert len(person.questions) == len(says), "a field of a password is not asked about"
    assert all("step 5" in question for question in person.questions)
    assert ("give --param NAME=VALUE" in capsys.readouterr().err) == (not says), "nobody was there to be asked"


def test_an_answer_that_is_not_to_be_read_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [SimpleNamespace(text="Saved as 4711")]
    monkeypatch.setattr(command, "read", lambda last, reader: SimpleNamespace(lines=lines))
    teller: Any = SimpleNamespace(reader=None)
    last: Any = None
    person = Asked("4712", "4711")
    assert command._answer("5000", last, teller, person) == "4711"
    assert [question.partition(" was not")[0] for question in person.questions] == ["'5000'", "'4712'"]
    assert command._answer("5000", last, teller, Asked("")) == "", "none is an answer"
    with pytest.raises(InvalidUsage, match="'5000' was not found"):
        command._answer("5000", last, teller, Asked())


def test_what_is_said_of_the_texts_stands_in_the_playbook(tmp_path: Path) -> None:
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
