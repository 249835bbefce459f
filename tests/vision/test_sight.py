"""Find labels and values among lines of text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from PIL import ImageFont

from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.playbook import Read
from holo_tasks.scripts.values import convert, fill, fill_all, label_of, read_values
from holo_tasks.vision.screen_text import Line, Sight, label_before, matches


def sight(*texts: tuple[str, int, int], fields: tuple[Box, ...] = ()) -> Sight:
    """Return a sight with lines 20 pixels high and 9 pixels wide per letter."""
    lines = tuple(Line(text, Box(x, y, 9 * len(text), 20)) for text, x, y in texts)
    return Sight(lines, Size(1000, 800), fields)


@pytest.mark.parametrize(
    ("template", "value", "text", "there"),
    [
        ("{who}", "Meyer GmbH", "Meyer GmbH", True),
        ("{who}", "Meyer GmbH", "MEYER GMBH", True),
        ("{who}", "Meyer GmbH", "MeyerGmbH", True),
        ("Customer {who}", "Meyer GmbH", "Customer: Meyer GmbH", True),
        ("Customer {who}", "Meyer GmbH", "Custorner: Meyer GmbH", True),
        ("Customer {who}", "Meyer GmbH", "Customer: Meier GmbH", False),
        ("{who}", "Meyer GmbH", "Meier GmbH", False),
        ("{who}", "Anna Schmidt", "Anna Schmitt", False),
        ("{who}", "Anna Schmidt", "Anna Schmidtke", False),
        ("{who}", "Meyer GmbH", "Meyer GmbH & Co", False),
        ("Customer {who}", "Meyer GmbH", "Customer: Meyer GmbH & Co", False),
        ("{who}", "Timm", "Tinn", False),
        ("{who}", "Klein", "Kleln", False),
        ("{who}", "Il Sole", "ll Sole", True),
        ("*{who}*", "Kite", "The Kite Ltd", True),
        ("*{who}*", "Kite", "The Kitesurf Ltd", False),
        ("*{who}*", "Anna Schmidt", "Schmidt, Anna", False),
        ("{who}", "Müller", "Muller", True),
        ("{who}", "Muller", "Müller", False),
        ("{who} {number}", "Meyer", "Meier 12", False),
        ("{who} {number}", "Meyer", "Meyer 12", True),
        ("*{who}*", "A+", "Grade: A+ (good)", True),
        ("*{who}*", "A+", "Grade: A- (good)", False),
        ("*{who}*", "C", "Course C++, course C", True),
        ("*{who}*", "C", "Course C++", False),
        ("*{who}*", "-5.00", "Balance −5.00 EUR", True),
        ("*{who}*", "-5.00", "Balance 5.00 EUR", False),
        ("*{who}*", "5.00", "Balance -5.00 EUR", False),
        ("*{who}*", "R-12", "R -12 open", True),
        ("{who}%", "5", "5%", True),
        ("*{who}*", "5", "Discount 5% applied", True),
        ("-{who}", "5.00", "-5.00", True),
        ("Balance -{who}*", "5.00", "Balance -5.00 EUR", True),
        ("+{who}", "4930123", "+4930123", True),
        ("*{who}*", "12", "Home > Orders > 12", True),
        ("*{who}*", "12", "Home › Orders › 12", True),
        ("{who}*", "Tim", "Tim- Editor", True),
        ("*{who}*", "5.00", "Balance -$5.00", False),
        ("*{who}*", "5", "Age ≥ 5", False),
    ],
)
def test_a_value_must_be_present_word_for_word(template: str, value: str, text: str, there: bool) -> None:
    label = label_of(template, {"who": value, "number": 12})
    assert matches(label, text) is there
    assert sight((text, 20, 20)).has(label) is there
    assert bool(sight((text, 20, 20)).find(label)) is there


def test_a_value_read_as_single_words_is_found() -> None:
    label = label_of("{who}", {"who": "Meyer GmbH"})
    assert sight(("Meyer", 20, 20), ("GmbH", 80, 20)).has(label)
    assert not sight(("Meier", 20, 20), ("GmbH", 80, 20)).has(label)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Transaction search", "Transaction search"),
        ("Transaction search", "Transactionsearch"),
        ("Transaction search", "Transact1on search".replace("1", "l")),
        ("Log in", "Log In."),
        ("Zürich", "Zurich"),
        ("FLAG FOR REVIEW", "FLAG FOR REVIEW"),
        ("TX-10482", "TX-10482"),
        ("TX-10482*", "TX-10482 Grand Hôtel Zürich"),
        ("E-114*", "E-114 CHECK FIELD: NOTE"),
        ("Flags on file: *Wrong amount*", "Flags on file: 2 (Other, Wrong amount)"),
        ("USER auditor", "USER AUDITOR"),
        *(("Save", "Save…"), ("Amount", "Amount*"), ("Amount:", "Amount"), ("Qty", "Qty."), ("Sort", "Sort-")),
        *(("Add", "+ Add"), ("Add", "+Add"), ("New +", "New+"), ("C++", "C+ +"), ("Ctrl+S", "Ctrl+ S")),
        *(("TX-10482", "TX 10482"), ("TX-10482", "TX -10482"), ("5% - 10%", "5%-10%"), ("5.00 €", "5.00")),
        *(("5%", "5\xa0%"), ("+49 30 12", "＋49 30 12"), ("1.2-3", "1.2‑3"), ("Tax", "Tax-"), ("12 -", "12")),
        *(
            ("2024", "> 2024"),
            ("2026", "‹ 2026 ›"),
            ("Orders > 12", "Orders › 12"),
            ("5 % of 10 €", "5 of 10 €"),
            ("- 5 %", "-5%"),
        ),
        *(("+49 30 1234567", "+49 (30) 123-45-67"), ("Item - 5 pcs", "Item 5 pcs"), ("Country", "Country *")),
    ],
)
def test_a_label_is_recognized(label: str, text: str) -> None:
    assert matches(label, text)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("TX-10482", "TX-10483"),
        ("TX-10482", "TX-1048"),
        ("Flag 1001 saved", "Flag 1007 saved"),
        ("TX-10482*", "TX-1048 2nd"),
        ("MAIN MENU", "Main menu"),
        ("Search", "Transaction search"),
        ("OK", "OR"),
        ("Save flag", ""),
        ("", "Save flag"),
        ("Flags on file: *Wrong amount*", "Flags on file: 0"),
        *(("A+", "A-"), ("A", "A+"), ("A-", "A"), ("C", "C++"), ("C++", "C#"), ("C++", "C+"), ("< 18", "> 18")),
        *(("Balance -5", "Balance 5"), ("-5", "+5"), ("5 %", "5 €"), ("50%", "50"), ("UTC+1", "UTC-1")),
        *(("-$5.00", "$5.00"), ("5.00-", "5.00"), ("- $5", "+ $5"), (">18", "18"), ("≥ 18", "18")),
    ],
)
def test_another_text_is_not_the_label(label: str, text: str) -> None:
    assert not matches(label, text)
    assert not sight((text, 10, 100)).find(label)


def test_a_value_is_right_of_its_label() -> None:
    seen = sight(
        ("Amount", 10, 100), ("1,284.50", 120, 101), ("Merchant", 10, 140), ("Blue", 120, 140), ("Line", 160, 141)
    )
    assert seen.right_of("Amount") == "1,284.50"
    assert seen.right_of("Merchant") == "Blue Line"
    assert seen.right_of("Date") is None


def test_a_column_further_right_is_another_value() -> None:
    assert sight(("Amount", 10, 100), ("12.00", 120, 100), ("USD", 400, 100)).right_of("Amount") == "12.00"


@pytest.mark.parametrize(
    ("label", "text", "is_found"),
    [
        ("Book", "Book今", True),
        ("Book", "今 Book", True),
        ("Book", "Book今回", False),
        ("Book", "Books今", False),
        ("打开", "打开今", False),
        (label_of("{name}", {"name": "Book"}), "Book今", False),
    ],
)
def test_an_icon_that_ocr_joined_to_a_text_is_no_part_of_it(label: str, text: str, is_found: bool) -> None:
    """A value of an item may end with such a sign, and then it is another value."""
    assert bool(sight((text, 10, 100)).find(label)) is is_found


@pytest.mark.parametrize(
    ("others", "is_icon"),
    [
        (("取消",), False),
        (("是", "否"), False),
        (("キャンセル",), False),
        (("취소",), False),
        (("Cancel", "三", "目 Print", "Loading。。"), True),
    ],
)
def test_a_sign_beside_a_latin_word_is_no_icon_among_words_of_such_signs(
    others: tuple[str, ...], is_icon: bool
) -> None:
    """The Chinese label “旧PIN” means the old PIN."""
    lines = [("旧PIN", 10, 100), *((text, 10, 200 + 50 * place) for place, text in enumerate(others))]
    assert bool(sight(*lines).find("PIN")) is is_icon
    assert sight(*lines).find("旧PIN")


def test_a_label_that_occurs_twice_is_not_an_anchor() -> None:
    assert sight(("Date", 10, 100), ("Date", 10, 300), ("2026-01-01", 100, 100)).right_of("Date") is None


def test_a_field_is_beside_or_below_its_label() -> None:
    beside, below = Box(100, 95, 200, 30), Box(10, 226, 200, 60)
    seen = sight(("User", 10, 100), ("Note", 10, 200), ("Far", 10, 500), fields=(beside, below))
    assert seen.field_at("User") == beside
    assert seen.field_at("Note") == below
    assert seen.field_at("Far") is None


@pytest.mark.parametrize(
    ("width", "fields", "found"),
    [
        pytest.param(110, (0, 1), 0, id="over the edge of its field"),
        pytest.param(110, (1,), None, id="its own field is not seen"),
        pytest.param(90, (0, 1), 0, id="left of the edge"),
        pytest.param(190, (1,), 1, id="above the field"),
    ],
)
def test_a_label_over_the_edge_of_its_field_is_not_that_of_the_field_below(
    width: int, fields: tuple[int, ...], found: int | None
) -> None:
    every = (Box(100, 96, 200, 26), Box(100, 132, 160, 26))
    lines = (Line("Room:", Box(10, 94, width, 30)),)
    seen = Sight(lines, Size(400, 300), tuple(every[place] for place in fields))
    assert seen.field_at("Room:") == (None if found is None else every[found])


@pytest.mark.parametrize(
    ("text", "width", "label"),
    [
        pytest.param("Amount10.00", 110, "Amount", id="joined to a number"),
        pytest.param("Amount -10.00", 130, "Amount", id="before a space"),
        pytest.param("Amount due 10.00", 170, "Amount", id="the field begins after the first word"),
        pytest.param("Amount2", 68, "", id="a number of the label, and OCR's box reaches over the edge"),
        pytest.param("Amount", 72, "", id="one word"),
        pytest.param("Amount10.00", 300, "", id="the text goes on beyond the field"),
        pytest.param("A1000000000", 110, "", id="the letters end far left of the field"),
    ],
)
def test_a_label_ends_where_the_field_begins(text: str, width: int, label: str) -> None:
    """OCR joins a label to the text of the neighboring field. The next item has another text there."""
    field, line = Box(70, 90, 150, 26), Line(text, Box(10, 92, width, 22))
    assert label_before(line, field) == label
    seen = Sight((line,), Size(400, 300), (field,))
    assert not label or seen.field_at(label) == field


@pytest.mark.parametrize(
    ("label", "value", "space", "found"),
    [
        pytest.param("Line 1", "20 High St", "", "", id="a number of the label joined to a number of the text"),
        pytest.param("Line 2", "7 Elm", "", "", id="another one"),
        pytest.param("Line", "120 High St", " ", "Line", id="a number of the text"),
        pytest.param("Amount", "10.00", " ", "Amount", id="an amount"),
        pytest.param("Room 12", "Berlin", " ", "Room 12", id="a number of the label"),
        pytest.param("Street and number", "1 1/2 miles of will", " ", "Street and number", id="narrow letters"),
        pytest.param("Width (mm)", "10115 Berlin Mitte", " ", "Width (mm)", id="wide letters"),
    ],
)
@pytest.mark.parametrize("gap", [3, 6])
def test_a_number_over_the_edge_of_a_field_is_not_cut(label: str, value: str, space: str, found: str, gap: int) -> None:
    """The field of *Line 1* is not that of *Line*, and the next item has another number in it."""
    font = ImageFont.truetype("DejaVuSans.ttf", 14)
    edge = 20 + int(font.getlength(label)) + gap
    line = Line(f"{label}{space}{value}", Box(20, 92, edge + 4 + int(font.getlength(value)) - 20, 22))
    field = Box(edge, 90, 250, 26)
    assert label_before(line, field) == found
    seen = Sight((line,), Size(400, 300), (field,))
    assert seen.field_at("Line") == (field if found == "Line" else None)


@pytest.mark.parametrize(("apart", "is_one"), [(-5, True), (9, True), (30, False), (-20, False)])
def test_neighboring_words_form_one_text(apart: int, is_one: bool) -> None:
    left = 240 + 9 * len("two boxes") + apart
    assert sight(("two boxes", 240, 20), ("of glass", left, 20)).has("two boxes of glass") is is_one


def test_a_wrapped_text_is_seen_in_part() -> None:
    note = "Receipt says 1248.50 EUR, the ledger says 1284.50 EUR."
    assert sight(("EUR, the ledger says", 0, 0)).shows_part_of(note)
    assert not sight(("Save flag", 0, 0), ("EUR", 0, 50)).shows_part_of(note)
    assert not sight(("says 1248.60 EUR", 0, 0)).shows_part_of(note)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1,284.50", "money", "1284.50"),
        ("1.284.50", "money", "1284.50"),
        ("1.284,50", "money", "1284.50"),
        ("12,345,678.90", "money", "12345678.90"),
        ("-42.10", "money", "-42.10"),
        ("0.05", "money", "0.05"),
        ("1284", "money", None),
        ("1,28450", "money", None),
        ("l,284.50", "money", None),
        ("1284.5O", "money", None),
        ("17", "int", 17),
        ("1O", "int", None),
        ("2026-03-14", "date", "2026-03-14"),
        ("2026 -03-14", "date", "2026-03-14"),
        ("2026-13-14", "date", None),
        ("  a   b ", "text", "a b"),
        ("", "text", None),
    ],
)
def test_a_doubtful_value_is_not_read(text: str, kind: str, value: object) -> None:
    assert convert(text, kind) == value


def test_two_different_values_are_ambiguous() -> None:
    read = {"flag": Read.model_validate({"line": r"Flag (\d+) saved", "as": "int"})}
    assert read_values(read, sight(("Flag 12 saved", 0, 0))) == {"flag": 12}
    assert read_values(read, sight(("Flag 12 saved", 0, 0), ("Flag 13 saved", 0, 50))) is None


def test_secrets_stay_placeholders() -> None:
    assert fill("{user} {{secret:pin}} {else}", {"user": "ann", "secret": "x"}) == "ann {{secret:pin}} {else}"
    assert fill_all({"a": ["{n}", "n is {n}"], "b": None}, {"n": 3}) == {"a": [3, "n is 3"], "b": None}


@pytest.mark.parametrize("text", ["Save note", "save note:", "Savenote", "Save nole", "Sove note", "Savee note"])
def test_a_misread_label_is_found(text: str) -> None:
    assert sight((text, 10, 10)).find("Save note")


@pytest.mark.parametrize("text", ["Save notes", "Saved note", "Save vote", "Have note", "Save no"])
def test_a_similar_word_is_not_found(text: str) -> None:
    assert not sight((text, 10, 10)).find("Save note")


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("Stored", "Store"),
        ("Deleted", "Delete"),
        ("Note", "Notes"),
        ("Payment was accepted", "Payment was not accepted"),
        ("Record is saved", "Record is unsaved"),
        ("Record paid", "Record unpaid"),
        ("Connected", "Disconnected"),
        ("Edit", "Edi"),
        ("Edit...", "Edi"),
        ("Add...", "Ad..."),
        ("Sort...", "Sor 1..."),
        ("Set...", "Se..."),
    ],
)
def test_another_form_of_a_word_and_its_negation_are_other_texts(label: str, other: str) -> None:
    assert not matches(label, other)
    assert not matches(other, label)


@pytest.mark.parametrize(
    ("label", "read"),
    [
        ("Search", "BI Search"),  # an icon read as letters
        ("Order number", "Order numbe"),
        ("Address", "Addres"),
        ("Transaction search", "Transacton search"),
        ("Reference number", "Reference nurnber"),
        ("Edit...", "Edi..."),
        ("Edit…", "Edi.."),
    ],
)
def test_letters_that_ocr_adds_or_misses_make_no_other_text(label: str, read: str) -> None:
    assert matches(label, read)


@pytest.mark.parametrize(
    ("label", "read", "is_same"),
    [
        ("J-2012", "j-2012", True),
        ("*J-2012*", "j-2012", True),
        ("A-2012", "a-2012", False),
        ("NOTES", "notes", False),
        ("SOS", "sos", False),  # a label without a digit may be a heading in capitals
    ],
)
def test_ocr_may_take_a_capital_of_a_key_for_a_small_letter(label: str, read: str, *, is_same: bool) -> None:
    assert matches(label, read) is is_same


def test_a_label_that_is_not_on_the_screen_needs_no_reading_of_the_whole_picture() -> None:
    class Unread(tuple[Line, ...]):
        def __iter__(self) -> Iterator[Line]:
            raise AssertionError("the whole picture was read")

    absent = replace(sight(), lines=Unread(), reported=lambda label: False)
    assert absent.right_of("Receipt") is None
    shown = sight(("Receipt", 20, 20), ("5014", 120, 20))
    for answer in (None, True):  # the tree cannot tell where the label is
        assert replace(shown, reported=lambda label, told=answer: told).right_of("Receipt") == "5014"


def test_a_long_word_is_compared_at_once() -> None:
    """A field may hold a key of many letters."""
    long, begin = "x" * 20_000, time.process_time()
    assert not matches(f"{long} -5", f"{long} 5")
    assert time.process_time() - begin < 0.5
