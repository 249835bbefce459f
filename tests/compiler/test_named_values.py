"""A person's statements about a recording: names of parameters, and texts that never change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from holo_tasks.compiler.answers import RecordedAnswer, answer_of, is_asked_for, reports_done
from holo_tasks.compiler.compile import _once
from holo_tasks.compiler.parameters import Parameters, parameters_of
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.steps import actions_of
from holo_tasks.compiler.targets import has_words, target_at
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.scripts.values import Value, read_values
from holo_tasks.vision.screen_text import Line, Sight, matches
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import Act, page, record

SIZE = Size(640, 400)
TYPED = Parameters({"name": "text", "currency": "text"}, ({"name": "Baker Ltd", "currency": "GBP"},))


def line(text: str, left: int, top: int) -> Line:
    return Line(text, Box(left, top, 8 * len(text), 16))


def sight(*lines: Line, fields: tuple[Box, ...] = ()) -> Sight:
    return Sight(lines, SIZE, fields)


def picture(name: str) -> Picture:
    return Picture(name, Box.whole(SIZE), SIZE)


def test_parameters_are_renamed_and_constant_texts_dropped() -> None:
    named = TYPED.renamed({"name": "supplier", "currency": ""})
    assert named == Parameters({"supplier": "text"}, ({"supplier": "Baker Ltd"},))
    with pytest.raises(InvalidUsage, match="'A b' is not a valid parameter name"):
        TYPED.renamed({"name": "A b"})
    with pytest.raises(InvalidUsage, match="cannot have one name"):
        TYPED.renamed({"name": "same", "currency": "same"})


def test_a_parameter_name_is_asked_for_only_once() -> None:
    asked: list[Mapping[str, Value]] = []

    def ask(values: Mapping[str, Value]) -> Mapping[str, str]:
        asked.append(values)
        return {name: name.upper() for name in values}

    once = _once(ask)
    assert once({"name": "Baker Ltd"}) == once({"name": "Baker Ltd"}) == {"name": "NAME"}
    assert once({"name": "Baker Ltd", "city": "Leeds"}) == {"name": "NAME", "city": "CITY"}
    assert asked == [{"name": "Baker Ltd"}, {"city": "Leeds"}]


@pytest.mark.parametrize(
    ("label", "expected"),
    [("1,1 (0/152)", {"line": "(Input/output ?complete)"}), ("Buffer 2", {"right_of": "Buffer 2"})],
    ids=["the place in a file", "a label with a number"],
)
def test_a_message_is_not_read_beside_numbers_that_change(label: str, expected: dict[str, str]) -> None:
    """A status bar shows the place in the file before its message. The next file has another length."""
    end = sight(line(label, 10, 380), line("Input/output complete", 200, 380))
    found = answer_of([RecordedAnswer("Input/output complete", end, {})], befores=[sight(line(label, 10, 380))])
    assert found.reads["answer"].model_dump(by_alias=True, exclude_defaults=True) == expected


@pytest.mark.parametrize(
    ("label", "others", "expected"),
    [
        ("不", (), {"line": "(Contact saved)"}),
        ("不", "章冈曲履章", {"line": "(Contact saved)"}),  # the icons of a tool bar
        ("状态", ("客户王伟", "新订单"), {"right_of": "状态"}),
        ("Status", (), {"right_of": "Status"}),
    ],
)
def test_a_message_is_not_read_beside_an_icon(label: str, others: Iterable[str], expected: dict[str, str]) -> None:
    icons = [line(text, 10, 20 * top) for top, text in enumerate(others)]
    end = sight(line(label, 10, 380), line("Contact saved", 200, 380), *icons)
    found = answer_of([RecordedAnswer("Contact saved", end, {})], befores=[sight(line(label, 10, 380))])
    read = found.reads["answer"].model_dump(by_alias=True, exclude_defaults=True)
    assert {name: text.replace(" ?", " ") for name, text in read.items()} == expected


@pytest.mark.parametrize(("icons", "is_label"), [("章冈曲履章", False), (("客户王伟", "新订单"), True)])
def test_icons_that_stand_alone_are_no_words_of_a_language(icons: Iterable[str], is_label: bool) -> None:
    lines = [line("Address book", 10, 10), *(line(text, 10, 20 * top) for top, text in enumerate(icons, 2))]
    found = line("回区", 200, 10)
    assert has_words(found, [*lines, found]) is is_label


def test_an_empty_answer_compiles_to_an_empty_answer() -> None:
    found = answer_of([RecordedAnswer("", sight(line("SAVED", 10, 10)), {})])
    assert (found.content, found.reads, found.unread) == ("", {}, ())


@pytest.mark.parametrize(
    ("goal", "asked"),
    [
        ("Add the payment, and save the file. Answer done.", True),
        ("When it is done, answer with the word done. Save the file.", True),
        ("Save it. Then answer with “done”.", True),
        ("Save the file.", False),
        ("Answer done or failed.", False),
        ("Answer done if it has just one note.", False),
        ("If it is open, answer closed. Else answer done.", False),
        ("Say who has answered. Answer done.", False),
    ],
)
def test_only_words_without_a_condition_are_an_answer_that_a_task_asks_for(goal: str, asked: bool) -> None:
    assert is_asked_for("done", goal) is asked


@pytest.mark.parametrize(
    ("answer", "goal", "reports"),
    [
        ("done", "Change the phone number of the customer, and save.", True),
        ("Done.", "Add the customer that the data names.", True),
        ("Task completed", "Close the task.", True),
        ("found", "Find the customer.", False),
        ("not done", "Close the task.", False),
        ("done", "Say whether the task is done.", False),
        ("done", "Close the task if it is open.", False),
        ("done", "What is the state of the task?", False),
        ("done", "Add a customer named Berg.", True),
        ("done", "Cancel the order 1002, and save.", True),
        ("done", "Open this order, set its status to paid, and store it.", True),
        ("done", "Storniere die Bestellung 1002, falls sie noch offen ist", False),
        ("done", "Storniere die Bestellung 1002 von Smith and Sons, falls sie noch offen ist", False),
        ("done", "Lösche den Kunden, wenn er keine Bestellungen hat", False),
        ("done", "Prüfe die Rechnung von The Bakery", False),
        ("done", "Prüfe die Rechnung 1002", False),
        ("done", "Nenne den Betrag in Rechnung 1002", False),
        ("done", "Supprime la commande si elle est ouverte", False),
        ("done", "Usuń zamówienie „with”, jeśli jest otwarte", False),
        ("done", "Find the total of the order", False),
        ("done", "Determine the balance", False),
        ("done", "Confirm that 1002 is paid", False),
        ("done", "Make sure the order is paid", False),
        ("complete", "Close the task only in case it is complete, otherwise leave it", False),
        ("done", "", False),
    ],
)
def test_an_answer_may_only_say_that_the_work_is_done(answer: str, goal: str, reports: bool) -> None:
    assert reports_done(answer, goal) is reports
    found = answer_of([RecordedAnswer(answer, sight(), {}, goal)])
    assert (found.content, found.unread) == ((answer, ()) if reports else (None, ("answer",)))
    assert found.needs_evidence is reports


def read_again(leaf: str, recorded: str, now: str, **values: Value) -> Value:
    """Return the answer on a new message, by a way to read that was made of a recorded one."""
    found = answer_of([RecordedAnswer(leaf, sight(line(recorded, 10, 10)), {"number": "AB-1207"})], befores=[sight()])
    assert set(found.reads) == {"answer"}
    told = read_values(found.reads, sight(line(now, 10, 10)), {"number": "CD-3391", **values})
    return None if told is None else told["answer"]


@pytest.mark.parametrize(
    ("leaf", "recorded", "success", "failure"),
    [
        ("Record AB-1207 stored", "Record AB-1207 stored", "Record CD-3391 stored", "Record CD-3391 not stored"),
        ("Record AB-1207 stored", "Record AB-1207 stored", "Record CD-3391 stored", "Record CD-3381 stored"),
        ("Note 703 added", "Note 703 added.", "Note 706 added.", "Note 706 added to nothing: customer is locked"),
        ("S-4137", "Stored as S-4137", "Stored as S-4174", "Stored as draft: a reason is missing"),
        ("S-4137", "Stored as S-4137 today", "Stored as T-9 today", "Stored as T-9 by another user"),
    ],
)
def test_a_failure_in_the_words_of_success_is_no_answer(leaf: str, recorded: str, success: str, failure: str) -> None:
    said = read_again(leaf, recorded, success)
    assert said is not None
    assert str(said) in success
    assert read_again(leaf, recorded, failure) is None


def table(*rows: tuple[str, str, str]) -> Sight:
    cells = [line(text, 20 + 120 * column, 60 + 30 * row) for row, texts in enumerate(rows)
             for column, text in enumerate(texts)]  # fmt: skip
    heads = [line(text, 20 + 120 * column, 20) for column, text in enumerate(("Number", "Customer", "City"))]
    return sight(*heads, *cells)


def test_an_answer_is_read_in_the_row_of_the_item_and_not_beside_a_text_of_the_recorded_item() -> None:
    rows = [("AB-1207", "Fischer", "Bonn"), ("CD-3391", "Harvest", "Kiel")]
    found = answer_of([RecordedAnswer("Bonn", table(*rows), {"number": "AB-1207"})])
    read = found.reads["answer"]
    assert (read.row, read.column, read.right_of) == ("{number}", "City", None)

    def city(number: str, *shown: tuple[str, str, str]) -> Value:
        told = read_values(found.reads, table(*shown), {"number": number})
        return None if told is None else told["answer"]

    assert city("CD-3391", rows[1], rows[0]) == "Kiel"
    assert city("CD-3392", *rows) is None
    assert city("CD-3391", *rows, ("CD-3391", "Harvest", "Trier")) is None, "two rows have the number"


def test_a_value_beside_a_label_has_the_form_of_the_recorded_one() -> None:
    found = answer_of([RecordedAnswer("S-4137", sight(line("Receipt", 10, 10), line("S-4137", 120, 10)), {})])

    def read(text: str) -> dict[str, Value] | None:
        return read_values(found.reads, sight(line("Receipt", 10, 10), line(text, 120, 10)))

    assert read("S-99") == {"answer": "S-99"}
    assert read("none") is None


def test_a_field_reached_by_keys_is_named_after_its_label() -> None:
    city = Box(120, 78, 200, 24)
    after = sight(line("City", 20, 82), line("Leeds", 126, 82), fields=(city,))
    step = RecordedStep(1, "write", {"content": "Leeds"}, "", picture("before"), picture("after"))
    one = Recording("runs/1", "0" * 64, "add", "add", {}, (step,), "", picture("after"))
    seen = {"before": ReadPicture(picture("before"), sight()), "after": ReadPicture(picture("after"), after)}
    assert parameters_of([one], seen).values == ({"city": "Leeds"},)


def test_a_text_selected_by_dragging_is_refused() -> None:
    shown = sight(line("Comment", 20, 82), fields=(Box(120, 78, 200, 24),))
    told = picture("before")
    step = RecordedStep(4, "drag_and_drop", {}, "", told, told, (Point(130, 90), Point(220, 90)))
    with pytest.raises(InvalidUsage, match="Step 4 drags inside the field Comment"):
        actions_of(step, shown, {})


def test_a_light_button_is_identified_by_its_text_and_not_by_a_label_nearby() -> None:
    field, button = Box(120, 78, 200, 24), Box(60, 120, 80, 30)
    shown = sight(line("Password", 20, 82), line("Save", 84, 127), fields=(field, button))
    pressed = target_at(button.center, shown, {})
    assert pressed is not None
    assert (pressed.text, pressed.field) == ("Save", None)
    filled = sight(line("Name", 20, 82), line("Baker", 200, 82), fields=(field,))
    named = target_at(field.center, filled, {})
    assert named is not None
    assert named.field == "Name"


def test_a_button_in_a_bar_is_identified_by_its_caption_and_a_field_by_its_label() -> None:
    bar = Box(10, 100, 600, 60)
    captions = [line(name, 20 + 120 * place, 135) for place, name in enumerate(("New entry", "Delete", "Print"))]
    pressed = target_at(Point(45, 130), sight(line("Properties", 300, 60), *captions, fields=(bar,)), {})
    assert pressed is not None
    assert (pressed.text, pressed.field) == ("New entry", None)
    # OCR may split the text of a field in two, and a field that holds the item's values is not a bar.
    split = sight(line("Note", 10, 60), *captions[:2], fields=(bar,))
    named = target_at(Point(45, 140), split, {})
    assert named is not None
    assert named.field == "Note"
    item = {"what": "New entry", "how": "Delete", "where": "Print"}
    holding = target_at(Point(45, 140), sight(line("Note", 10, 60), *captions, fields=(bar,)), item)
    assert holding is not None
    assert holding.field == "Note"


def test_a_capital_i_and_a_small_l_look_alike() -> None:
    assert matches("Ulm", "UIm")
    assert matches("Illinois", "lllinois")
    assert not matches("Tin", "Tln")


def test_the_name_of_a_value_that_is_typed_is_no_value() -> None:
    told = picture("before")
    steps = tuple(
        RecordedStep(n, "write", {"content": text}, "", told, told) for n, text in enumerate(("city", "Kiel"))
    )
    seen = {"before": ReadPicture(told, sight())}
    one = Recording("runs/1", "0" * 64, "add", "add", {"city": "Leeds"}, steps, "", told)
    assert parameters_of([one], seen).values == ({"city": "Leeds", "text_1": "Kiel"},)


@pytest.mark.parametrize("clerk", ["Ada", "Bob"])
def test_a_value_that_no_step_uses_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], clerk: str) -> None:
    shown = page((20, 10, "ORDER"), (20, 60, "Article:"), (20, 100, "Clerk:"))
    acts = [Act(shown, click="Article:"), Act(shown, write="Beans"), Act(shown, click="Clerk:")]
    goal = "Order it.\n\n" + quoted({"article": "Beans", "clerk": "Ada"})
    trace = record(tmp_path, "one", goal, [*acts, Act(shown, write=clerk)], page((20, 10, "SAVED IT")), "")
    compiled(tmp_path, trace, params=("other=Bob",) if clerk == "Bob" else ())
    assert ("no step uses clerk:" in capsys.readouterr().err) is (clerk == "Bob")


@pytest.mark.parametrize(("pressed", "left"), [("A", True), ("AB", False)])
def test_a_pressed_value_of_one_character_is_left_to_the_model(tmp_path: Path, pressed: str, left: bool) -> None:
    shown = page((20, 10, "RESULT OF THE TEST"), (20, 60, "AB"))
    facts = {"role": "radio button", "name": pressed, "application": "marks", "alike": "1"}
    act = Act(shown, at=Point(200, 200), element=facts)
    goal = "Enter the grade.\n\n" + quoted({"grade": "A"})
    trace = record(tmp_path, "one", goal, [act], page((20, 10, "SAVED IT")), "")
    playbook, _, text = compiled(tmp_path, trace)
    assert (playbook.goals["look-up"].steps[0].kind == "by_model") is left, text
