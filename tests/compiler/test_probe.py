"""Runs that check for an effect compile into a goal's probe: it answers done if the effect exists exactly once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.cli.compile import compile_traces
from holo_tasks.compiler.goals import name_of_goal
from holo_tasks.compiler.probes import NOT_THERE
from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.scripts.playbook import Playbook, Rule, load_playbook
from holo_tasks.scripts.rules import follow
from tests.support.recorded_runs import Act, Page, Part, page, page_reader, record_parts, sight_of

PUT = "Put the note on the order {} and save it once."
LOOK = "Look whether the order {} has just one note: answer done if so."
MAIN, PROBE = "put-a-note", "look-whether-the-order-has-just-one-note"
FRAME = [(20, 10, "Harbor Stock"), (20, 390, "Press F1 for help")]
ORDERS = {"AB-1207": "Fischer and Sons", "CD-3391": "Harvest Market", "EF-5050": "Kite Supplies"}
NOTES = {"AB-1207": "ring the bell twice", "CD-3391": "leave at the gate", "EF-5050": "two boxes of glass"}
NO_NOTE = "There is no note on it."


def search(order: str = "") -> Page:
    labels = [(20, 50, "ORDER SEARCH"), (20, 120, "Order number"), (60, 300, "Start search")]
    return page(*FRAME, *labels, fields=[(200, 118, order)])


def details(number: str, on_file: str = "", note: str = "") -> Page:
    """Return the page of an order with its count of notes, and the field for another note."""
    labels = [(20, 120, "Order"), (20, 160, "Customer"), (20, 250, "Note"), (60, 320, "Save note")]
    values = [(200, 120, number), (200, 160, ORDERS[number])]
    said = [(20, 200, on_file)] if on_file else []
    return page(*FRAME, (20, 50, "ORDER DETAILS"), *labels, *values, *said, fields=[(200, 248, note)])


def saved(number: str) -> Page:
    said = [(20, 120, "Order"), (200, 120, number), (20, 160, "Receipt"), (200, 160, "5012")]
    return page(*FRAME, (20, 50, "NOTE SAVED"), *said, (60, 300, "Back to search"))


def nothing(number: str) -> Page:
    return page(*FRAME, (20, 50, "NOTHING FOUND"), (20, 120, f"There is no order {number} here."))


def find(number: str) -> list[Act]:
    return [
        Act(search(), click="Order number"),
        Act(search(), write=number),
        Act(search(number), click="Start search"),
    ]


def put(number: str, *, said: Any = "", last: Page | None = None) -> Part:
    """Return the part of a run that puts a note on an order."""
    note = NOTES[number]
    acts = [Act(details(number), click="Note"), Act(details(number), write=note)]
    acts.append(Act(details(number, note=note), click="Save note"))
    return Part(PUT.format(number), [*find(number), *acts], last or saved(number), said)


def look(number: str, on_file: str | Page, answer: str, *, after: bool = True, goal: str = LOOK) -> Part:
    """Return a run that looks up an order again, from the page after saving or from the search before."""
    first = [Act(saved(number), click="Back to search")] if after else []
    last = on_file if isinstance(on_file, Page) else details(number, on_file)
    return Part(goal.format(number), [*first, *find(number)], last, answer)


def once(number: str, on_file: str | Page = "Notes on file: 1", answer: str = "done") -> Part:
    return look(number, on_file, answer)


def before(number: str, on_file: str | Page = "Notes on file: 0") -> Part:
    return look(number, on_file, NO_NOTE, after=False)


@dataclass(frozen=True)
class Desk:
    """Folder of the traces and playbooks of a test."""

    home: Path

    def run(self, *parts: Part) -> str:
        """Record a run; return its trace."""
        return record_parts(self.home, f"20261123-0000{len(list(self.home.glob('runs/*'))):02}-00000000", *parts)

    def runs(self, *parts: Part) -> list[str]:
        """Record each part as its own run."""
        return [self.run(part) for part in parts]

    def compiled(
        self, traces: Sequence[str], probes: Sequence[str], goal: str = MAIN, params: Sequence[str] = ()
    ) -> tuple[Playbook, dict[str, Any], str]:
        """Return the playbook of some traces, the command's JSON output, and the playbook's text."""
        out = self.home / "made.yaml"
        out.unlink(missing_ok=True)
        how: dict[str, Any] = {"as_json": True, "reader": page_reader(), "probes": probes}
        told = json.loads(compile_traces(traces, out, goal, params, None, self.home, **how))
        return load_playbook(out), told, out.read_text()

    def refused(self, traces: Sequence[str], probes: Sequence[str], said: str, **how: Any) -> None:
        """Check that these traces are refused with this message, and that no file is written."""
        with pytest.raises(InvalidUsage, match=said):
            self.compiled(traces, probes, **how)
        assert not (self.home / "made.yaml").exists()


def looked(playbook: Playbook, number: str, *pages: Page, values: dict[str, Any] | None = None) -> list[str]:
    """Return the tools that a playbook's probe uses on a sequence of pages, and its answers."""
    told = values or {"order_number": number}
    goal = playbook.goals[playbook.name].probe
    assert goal is not None
    history: list[Turn] = []
    found = []
    for one in pages:
        decision = follow(playbook, goal, told, history, sight_of(one), written=_pixels)
        call = dict(decision.step["tool_call"])
        history.append(Turn(call["tool_name"], decision.step["thought"], call))
        found.append(str(call.get("content", "")) if call["tool_name"] == "answer" else str(call["tool_name"]))
    return found


def _pixels(point: Point, size: Size) -> tuple[float, float]:
    return point.x, point.y


def way(number: str) -> list[Page]:
    return [saved(number), search(), search(), search(number)]


STEPS = ["click", "click", "write", "click"]


def rule(playbook: Playbook, id_: str) -> Rule:
    return next(one for one in playbook.rules_of(playbook.goals[playbook.name].probe or "") if one.id == id_)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Playbook, dict[str, Any], str]:
    """The playbook of two runs that put a note on an order, two that checked afterwards, and one before."""
    desk = Desk(tmp_path_factory.mktemp("home"))
    probes = desk.runs(once("AB-1207"), once("CD-3391", answer=" Done "), before("AB-1207"))
    return desk.compiled(desk.runs(put("AB-1207"), put("CD-3391")), probes)


def test_the_file_contains_the_goal_and_its_probe(made: tuple[Playbook, dict[str, Any], str]) -> None:
    playbook, told, text = made
    assert list(playbook.goals) == [MAIN, PROBE]
    assert (told["goal"], told["probe"], playbook.goals[MAIN].probe) == (MAIN, PROBE, PROBE)
    assert dict(playbook.goals[MAIN].params) == {"order_number": "text", "note": "text"}
    assert dict(playbook.goals[PROBE].params) == {"order_number": "text"}
    assert len(told["runs"]) == 5
    head = text.partition("\nname:")[0]
    assert all(run["sha256"] in head for run in told["runs"])
    assert f"# Its probe, {PROBE}, looks whether the effect exists. From:" in head


def test_the_probe_recognizes_the_effect_by_texts_of_successful_runs_only(
    made: tuple[Playbook, dict[str, Any], str],
) -> None:
    there, not_so = rule(made[0], "there-once"), rule(made[0], "not-so")
    assert {"ORDER DETAILS", "{order_number}", "Notes on file: 1"} <= {*there.screen}
    assert "Notes on file: 1" not in not_so.screen
    assert {"ORDER DETAILS", "{order_number}"} <= {*not_so.screen}
    assert (there.waited, not_so.waited) == (0, 1)
    leaves = rule(made[0], "click-back-to-search")
    assert leaves.anytime, "only the runs after saving began there"


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (["Notes on file: 1"], ["done"]),
        (["Notes on file: 0", "Notes on file: 1"], ["wait", "done"]),  # the count is drawn late
        (["", "Notes on file: 1"], ["wait", "done"]),
        (["Notes on file: 0"] * 2, ["wait", NOT_THERE]),  # lost
        (["Notes on file: 2"] * 2, ["wait", NOT_THERE]),  # done twice
        (["Notes on file: 11"] * 2, ["wait", NOT_THERE]),
        (["Note on file: 7"] * 2, ["wait", NOT_THERE]),
        ([""] * 2, ["wait", NOT_THERE]),
    ],
)
def test_the_probe_answers_done_only_for_exactly_one_effect(
    made: tuple[Playbook, dict[str, Any], str], last: list[str], said: list[str]
) -> None:
    number = "EF-5050"
    pages = [*way(number), *(details(number, on_file) for on_file in last)]
    assert looked(made[0], number, *pages) == [*STEPS, *said]


def test_the_effect_on_another_items_record_does_not_count(made: tuple[Playbook, dict[str, Any], str]) -> None:
    number = "EF-5050"
    found = looked(made[0], number, *way(number), *[details("AB-1207", "Notes on file: 1")] * 9)
    assert found == [*STEPS, *["wait"] * 8, "ask_human"]


def test_the_probe_also_starts_from_the_open_search(made: tuple[Playbook, dict[str, Any], str]) -> None:
    number = "EF-5050"
    assert looked(made[0], number, *way(number)[1:], details(number, "Notes on file: 1")) == [*STEPS[1:], "done"]


def test_no_value_of_a_run_enters_the_file(made: tuple[Playbook, dict[str, Any], str]) -> None:
    body = "\n".join(line for line in made[2].splitlines() if not line.startswith("#"))
    assert not any(value in body for value in (*ORDERS, *ORDERS.values(), *NOTES.values(), "5012", NO_NOTE))


def test_the_saved_text_itself_proves_the_effect(desk: Desk) -> None:
    def with_data(part: Part, number: str) -> Part:
        told = quoted({"order": number, "note": NOTES[number]})
        return Part(f"{part.goal}\n\n{told}", part.acts, part.last, part.answer)

    numbers = "AB-1207", "CD-3391"
    puts = [with_data(put(number, said={"receipt": 5012}), number) for number in numbers]
    looks = [with_data(once(number, f"Says: {NOTES[number]}"), number) for number in numbers]
    none = with_data(before("CD-3391", "Says: nothing so far"), "CD-3391")
    playbook, _, text = desk.compiled(desk.runs(*puts), desk.runs(*looks, none))
    assert "Says: {note}" in rule(playbook, "there-once").screen
    assert not any(note in text for note in NOTES.values())
    values = {"order": "EF-5050", "note": NOTES["EF-5050"]}
    pages = [*way("EF-5050"), *[details("EF-5050", f"Says: {NOTES['AB-1207']}")] * 2]
    assert looked(playbook, "EF-5050", *pages, values=values) == [*STEPS, "wait", NOT_THERE]
    pages[-1] = details("EF-5050", f"Says: {NOTES['EF-5050']}")
    assert looked(playbook, "EF-5050", *pages, values=values) == [*STEPS, "wait", "done"]


def test_a_run_without_a_record_needs_a_counterexample_of_the_same_item(desk: Desk) -> None:
    main, probes = desk.runs(put("AB-1207")), desk.runs(once("AB-1207"), before("EF-5050", nothing("EF-5050")))
    desk.refused(main, probes, "give a run that answered otherwise for one of the same items")
    playbook, _, _ = desk.compiled(main, [*probes, *desk.runs(before("AB-1207"))])
    number = "EF-5050"
    assert looked(playbook, number, *way(number), *[nothing(number)] * 2) == [*STEPS, "wait", NOT_THERE]
    assert looked(playbook, number, *way(number), details(number, "Notes on file: 1")) == [*STEPS, "done"]
    twice = [details(number, "Notes on file: 2")] * 2
    assert looked(playbook, number, *way(number), *twice) == [*STEPS, "wait", NOT_THERE]


def test_runs_of_one_item_are_enough_if_the_screen_shows_a_count(desk: Desk) -> None:
    """A text typed alike in all probe runs is still a parameter, because the goal's runs typed other texts."""
    number = "AB-1207"
    playbook, told, text = desk.compiled(desk.runs(put(number)), desk.runs(once(number), before(number)))
    assert told["probe"] == f"{MAIN}-probe"
    assert number not in text.partition("\nname:")[2]
    assert ORDERS[number] not in text
    pages = [*way("EF-5050"), details("EF-5050", "Notes on file: 1")]
    assert looked(playbook, "EF-5050", *pages) == [*STEPS, "done"]


def test_a_count_missing_before_the_effect_needs_runs_of_two_items(desk: Desk) -> None:
    number = "EF-5050"
    main, probes = desk.runs(put("AB-1207")), desk.runs(once("AB-1207"), before("AB-1207", ""))
    desk.refused(main, probes, "No text distinguishes")
    playbook, _, _ = desk.compiled(main, [*probes, *desk.runs(once("CD-3391"))])
    assert looked(playbook, number, *way(number), details(number, "Notes on file: 1")) == [*STEPS, "done"]
    assert looked(playbook, number, *way(number), *[details(number)] * 2) == [*STEPS, "wait", NOT_THERE]


def test_a_text_of_one_item_alone_does_not_prove_the_effect(desk: Desk) -> None:
    number = "AB-1207"
    main, probes = desk.runs(put(number)), desk.runs(once(number, "Kept for Ada"), before(number, "Free to use"))
    desk.refused(main, probes, "No text distinguishes")
    desk.refused(main, [*probes, *desk.runs(once("CD-3391", "Kept for Ada"))], "No text distinguishes")


def test_one_run_may_contain_the_goal_and_the_probe(desk: Desk) -> None:
    both = [desk.run(put(number), once(number)) for number in ("AB-1207", "CD-3391")]
    desk.refused(both, both, "several goals: .*Say which one by --goal", goal="")
    goal = name_of_goal(PUT)
    playbook, told, _ = desk.compiled(both, [*both, *desk.runs(before("CD-3391"))], goal=goal)
    assert (told["goal"], told["probe"], len(told["runs"])) == (goal, PROBE, 3)
    pages = [*way("EF-5050"), details("EF-5050", "Notes on file: 1")]
    assert looked(playbook, "EF-5050", *pages) == [*STEPS, "done"]


def test_the_probe_searches_again_if_the_program_stays_on_the_record(desk: Desk) -> None:
    """The confirmation right after saving does not replace a search."""

    def stays(number: str) -> Page:
        return page(
            *FRAME, *[(*place, text) for place, text in details(number, "Notes on file: 1").texts.items()],
            (300, 320, "Back to search"), (20, 360, "It is saved."), fields=[(200, 248, "")],
        )  # fmt: skip

    def again(part: Part, number: str) -> Part:
        return Part(part.goal, [Act(stays(number), click="Back to search"), *find(number)], part.last, part.answer)

    puts = [put(number, last=stays(number)) for number in ("AB-1207", "CD-3391")]
    looks = [again(once(number), number) for number in ("AB-1207", "CD-3391")]
    playbook, _, _ = desk.compiled(desk.runs(*puts), desk.runs(*looks, before("AB-1207")))
    number = "EF-5050"
    pages = [stays(number), *way(number)[1:], *[details(number, "Notes on file: 0")] * 2]
    assert looked(playbook, number, *pages) == [*STEPS, "wait", NOT_THERE]
    pages[4:] = [details(number, "Notes on file: 1")]
    assert looked(playbook, number, *pages) == [*STEPS, "done"]


def test_a_result_beside_the_search_form_ends_the_probe(desk: Desk) -> None:
    def beside(number: str, on_file: str) -> Page:
        found = [(20, 210, "Found"), (200, 210, number), (20, 250, on_file)]
        labels = [(20, 50, "ORDER SEARCH"), (20, 120, "Order number"), (60, 300, "Start search")]
        return page(*FRAME, *labels, *found, fields=[(200, 118, "")])

    none = "Notes on file: 0"
    looks = look("AB-1207", beside("AB-1207", "Notes on file: 1"), "done"), before("CD-3391", beside("CD-3391", none))
    counted = look("CD-3391", beside("CD-3391", "Notes on file: 1"), "done")
    playbook, _, _ = desk.compiled(desk.runs(put("AB-1207")), desk.runs(looks[0], counted, looks[1]))
    number = "EF-5050"
    assert looked(playbook, number, *way(number), beside(number, "Notes on file: 1")) == [*STEPS, "done"]
    assert looked(playbook, number, *way(number), *[beside(number, none)] * 2) == [*STEPS, "wait", NOT_THERE]
    stale = [saved(number), *[beside(number, "Notes on file: 1")] * 3]
    assert looked(playbook, number, *stale) == ["click", "wait", "wait", "wait"], "the probe has not searched that up"


def test_a_probe_may_answer_from_the_first_screen(desk: Desk) -> None:
    def says(number: str, times: int) -> Page:
        told = [(20, 120, "Order"), (200, 120, number), (20, 200, f"Notes on file: {times}")]
        return page(*FRAME, (20, 50, "NOTE SAVED"), *told)

    def at_once(number: str, times: int, answer: str) -> Part:
        return Part(LOOK.format(number), [], says(number, times), answer)

    main = desk.runs(put("AB-1207", last=says("AB-1207", 1)))
    probes = desk.runs(at_once("AB-1207", 1, "done"), at_once("AB-1207", 2, "It has two notes."))
    playbook, _, _ = desk.compiled(main, probes, params=["order_number=AB-1207"])
    assert looked(playbook, "EF-5050", says("EF-5050", 1)) == ["done"]
    assert looked(playbook, "EF-5050", *[says("EF-5050", 2)] * 2) == ["wait", NOT_THERE]
    assert looked(playbook, "EF-5050", *[says("AB-1207", 1)] * 2) == ["wait", "wait"]


@pytest.mark.parametrize(
    ("looks", "said"),
    [
        ([once("AB-1207"), once("CD-3391")], "Every run of --probe answered ‘done’: also give one .* before"),
        ([before("AB-1207"), before("CD-3391")], "No run of --probe answered ‘done’"),
        ([once("AB-1207", answer="done, I think"), before("CD-3391")], "No run of --probe answered ‘done’"),
        (
            [once("AB-1207"), once("CD-3391"), before("CD-3391", "Notes on file: 1")],
            "No text distinguishes the screens on which --probe answered ‘done’",
        ),
        (
            [once("AB-1207", "Changed at 10:41"), once("CD-3391", "Changed at 10:41"), before("CD-3391", "")],
            "No text distinguishes",
        ),
        (
            [look("AB-1207", "Notes on file: 1", "done", after=False), before("AB-1207")],
            "No run of --probe begins where ‘put-a-note’ ends",
        ),
        ([put("CD-3391")], "do nothing but ‘put-a-note’ itself"),
    ],
)
def test_unsuitable_probe_runs_are_refused(desk: Desk, looks: list[Part], said: str) -> None:
    desk.refused(desk.runs(put("AB-1207")), desk.runs(*looks), said)


def read(number: str, *lines: str, told: str = "Order {}") -> Page:
    """Return another page of an order, with the order in one text and more lines below."""
    rows = [(20, 120 + 40 * row, text) for row, text in enumerate([told.format(number), *lines])]
    return page(*FRAME, (20, 50, "ORDER RECORD"), *rows)


ONE, NONE = "Notes on file: 1", "Notes on file: 0"
THREE = "Open tasks: 3", "New mails: 2"


@pytest.mark.parametrize(
    ("looks", "said"),
    [
        ([once("AB-1207", read("AB-1207", "Backup is running")), once("CD-3391", read("CD-3391", "Backup is running")),
          before("AB-1207", read("AB-1207", "All systems up"))], "No text distinguishes"),
        ([once("AB-1207", read("AB-1207", "Regular customer")), once("CD-3391", read("CD-3391", "Regular customer")),
          before("EF-5050", read("EF-5050", "New customer here"))], "No text distinguishes"),
        ([once("AB-1207", read("AB-1207", *THREE, ONE)), once("CD-3391", read("CD-3391", *THREE, ONE)),
          before("AB-1207", read("AB-1207", "Open tasks: 4", "New mails: 5", NONE))], "More than one count"),
        ([once("AB-1207", read("AB-1207", ONE, "CD-3391")), once("CD-3391", read("CD-3391", ONE, "AB-1207")),
          before("AB-1207", read("AB-1207", NONE, "CD-3391"))], "looked at a screen of several items"),
        ([once("AB-1207", read("AB-1207", ONE, told="{} of Ada")),
          once("CD-3391", read("CD-3391", ONE, told="{} of Bo")),
          before("AB-1207", read("AB-1207", NONE, told="{} of Ada"))], "a text that differs each time"),
    ],
)  # fmt: skip
def test_a_text_by_chance_or_of_another_item_does_not_prove_the_effect(
    desk: Desk, looks: list[Part], said: str
) -> None:
    desk.refused(desk.runs(put("AB-1207"), put("CD-3391")), desk.runs(*looks), said)


def test_a_key_that_contains_the_items_key_is_another_item(desk: Desk) -> None:
    looks = [
        once("AB-1207", read("AB-1207", ONE)),
        once("CD-3391", read("CD-3391", ONE)),
        before("AB-1207", read("AB-1207", NONE)),
    ]
    playbook, _, _ = desk.compiled(desk.runs(put("AB-1207")), desk.runs(*looks))
    number = "EF-5050"
    assert looked(playbook, number, *way(number), read(number, ONE)) == [*STEPS, "done"]
    for other in ("EF-5050-2", "XX-EF-5050", "9 EF-5050"):
        assert "done" not in looked(playbook, number, *way(number), *[read(other, ONE)] * 3)


def test_a_probe_only_reads(desk: Desk) -> None:
    """A probe types and presses nothing that changes the item, and no button that only some runs needed."""
    lost = page(*FRAME, (20, 50, "NOTE WAS LOST"), (60, 300, "Save again"))

    def repaired(number: str) -> Part:
        part = once(number)
        return Part(part.goal, [*part.acts, Act(lost, click="Save again")], part.last, part.answer)

    def anew(number: str, answer: str) -> Part:
        acts = [*put(number).acts, Act(saved(number), click="Back to search"), *find(number)]
        return Part(LOOK.format(number), acts, details(number, ONE if answer == "done" else "Notes on file: 2"), answer)

    main = desk.runs(put("AB-1207"), put("CD-3391"))
    looks = desk.runs(once("AB-1207"), repaired("CD-3391"), before("AB-1207"))
    desk.refused(main, looks, "Some runs of --probe pressed ‘Save again’, and others did not")
    again = desk.runs(anew("AB-1207", "done"), anew("CD-3391", "done"), anew("AB-1207", "twice"))
    desk.refused(main, again, "it only looks")

    def told(number: str, answer: str) -> Part:
        """Return a run that puts the note again, and finds its text on the record."""
        part = anew(number, answer)
        return Part(part.goal, part.acts, details(number, f"Says: {NOTES[number]}" if answer == "done" else ""), answer)

    again = desk.runs(told("AB-1207", "done"), told("CD-3391", "done"), told("AB-1207", "It says nothing."))
    desk.refused(main, again, "it only looks")


def test_the_goals_own_last_screen_does_not_prove_the_effect(desk: Desk) -> None:
    def end(number: str) -> Page:
        return page(
            *FRAME, (20, 50, "ORDER DETAILS"), (20, 120, "Order"), (200, 120, number), (20, 160, "Customer"),
            (20, 200, ONE), (20, 250, "It is saved."), (20, 290, "Thank you"), (20, 330, "Your receipt"),
        )  # fmt: skip

    looks = desk.runs(*(look(number, ONE, "done", after=False) for number in ("AB-1207", "CD-3391")), before("AB-1207"))
    main = desk.runs(put("AB-1207", last=end("AB-1207")), put("CD-3391", last=end("CD-3391")))
    desk.refused(main, looks, "No run of --probe begins where ‘put-a-note’ ends")


def test_the_name_of_a_probe_contains_no_words_of_an_item(desk: Desk) -> None:
    goal = "Look whether ring the bell twice is on order {} just once."
    looks = [look("AB-1207", ONE, "done", goal=goal), look("AB-1207", NONE, NO_NOTE, after=False, goal=goal)]
    _, told, text = desk.compiled(desk.runs(put("AB-1207")), desk.runs(*looks))
    assert told["probe"] == f"{MAIN}-probe"
    assert "bell" not in text


def test_a_screen_without_the_item_is_refused(desk: Desk) -> None:
    def counted(times: int) -> Page:
        return page(
            *FRAME, (20, 50, "ORDER DETAILS"), (20, 200, f"Notes on file: {times}"), (60, 300, "Back to search")
        )

    looks = once("AB-1207"), once("CD-3391"), before("AB-1207")
    bare = [Part(one.goal, one.acts, counted(times), one.answer) for one, times in zip(looks, (1, 1, 0), strict=True)]
    desk.refused(desk.runs(put("AB-1207")), desk.runs(*bare), "so the item is unknown.*--param NAME=VALUE")


def test_a_probe_run_with_several_goals_is_refused(desk: Desk) -> None:
    other = look("AB-1207", "Notes on file: 1", "done", goal="Count the suppliers of {}.")
    two = desk.run(once("AB-1207"), other)
    desk.refused(
        desk.runs(put("AB-1207")), [two, *desk.runs(before("CD-3391"))], "has several goals in addition to ‘put-a-note’"
    )


def test_goal_and_probe_share_their_parameter_names(desk: Desk) -> None:
    def by_data(number: str) -> Part:
        made = put(number)
        return Part(f"{made.goal}\n\n{quoted({'order': number})}", made.acts, made.last, made.answer)

    main = desk.runs(by_data("AB-1207"))
    looks = desk.runs(once("CD-3391"), once("EF-5050"), before("CD-3391"))
    desk.refused(main, looks, "The probe needs order_number, which ‘put-a-note’ is not given: .*--param NAME=VALUE")
    playbook, _, _ = desk.compiled(main, looks, params=["order=CD-3391"])
    assert dict(playbook.goals[PROBE].params) == {"order": "text"}
    desk.refused(main, looks, "No run contains the value that --param gives 'order'", params=["order=XX-0000"])


def test_the_probe_has_another_name_than_its_goal(desk: Desk) -> None:
    probes = desk.runs(once("AB-1207"), before("AB-1207"))
    playbook, told, _ = desk.compiled(desk.runs(put("AB-1207")), probes, goal=PROBE)
    assert (told["goal"], told["probe"]) == (PROBE, f"{PROBE}-probe")
    assert list(playbook.goals) == [PROBE, f"{PROBE}-probe"]


def test_the_command_compiles_a_probe_and_refuses_a_tampered_run(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from holo_tasks.cli.commands import exit_code

    monkeypatch.setenv("HOLO_HOME", str(desk.home))
    out = desk.home / "by-command.yaml"
    (main,), probes = desk.runs(put("AB-1207")), desk.runs(once("AB-1207"), before("AB-1207"))
    command = ["compile", main, "--out", str(out), "--goal", MAIN, "--json"]
    asked = [word for probe in probes for word in ("--probe", probe)]
    assert exit_code([*command, *asked]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["probe"] == f"{MAIN}-probe"
    assert f"its probe {MAIN}-probe looks for the effect" in told.err
    out.unlink()
    assert exit_code(command) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["probe"] is None
    assert "its probe" not in told.err
    assert "compile a probe" in told.err
    out.unlink()
    unanswered = record_parts(desk.home, "20261123-000090-00000000", before("CD-3391"), status="needs_person")
    assert exit_code([*command, *asked, "--probe", unanswered]) == 2
    assert "did not end as answered" in capsys.readouterr().err
    changed = Path(probes[1]) / "events.jsonl"
    changed.write_text(changed.read_text().replace(NO_NOTE, "done"))
    assert exit_code([*command, *asked]) == 2
    assert "TAMPERED" in capsys.readouterr().err
    assert not out.exists()
