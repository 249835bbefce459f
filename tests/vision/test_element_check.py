"""Elements of the accessibility tree are checked against the picture, and pixels decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.elements.elements import SHEET, SHOWING, TOO_LATE, Element, ElementTree
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.vision import element_check
from holo_tasks.vision.element_check import ANOTHER_TEXT, ElementCheck, _is_beside, contradicts_name, is_another_there
from holo_tasks.vision.name_fit import agrees, fit
from holo_tasks.vision.ocr_reader import Reader
from tests.support.elements import tree_of

SIZE = Size(480, 240)
SAVE, KEEP, FIELD, ICON, GROUND = (
    Box(20, 20, 160, 40),
    Box(220, 20, 160, 40),
    Box(20, 90, 300, 32),
    Box(20, 150, 32, 32),
    Box(300, 170, 120, 40),
)
CHECK = ElementCheck(Reader())


def picture(in_field: str = "") -> Frame:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#d8d8d8")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=20)
    for box, words in ((SAVE, "Save flag"), (KEEP, "Don't save")):
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill="#eeeeee", outline="black")
        draw.text((box.left + 16, box.top + 8), words, fill="black", font=font)
    draw.rectangle((FIELD.left, FIELD.top, FIELD.right - 1, FIELD.bottom - 1), fill="white", outline="black")
    draw.text((FIELD.left + 8, FIELD.top + 4), in_field, fill="black", font=font)
    draw.ellipse((ICON.left + 6, ICON.top + 6, ICON.right - 7, ICON.bottom - 7), fill="#3060c0")
    return Frame(image.tobytes(), SIZE, ":test")


def said(*elements: tuple[str, str, Box], frame: Frame | None = None, value: str = "", also: str = "") -> str:
    """Return the reason against the first of some elements."""
    tree: ElementTree = tree_of(*elements, value=value)
    first: Element = tree.elements[1]
    return CHECK.contradiction(frame or picture(), tree, first, also)


def test_elements_at_their_places_agree_with_the_picture() -> None:
    save, keep = ("button", "Save flag", SAVE), ("button", "Don't save", KEEP)
    assert said(save, keep) == said(keep, save) == ""
    assert said(("text field", "Reference", FIELD), save) == ""
    assert said(("button", "Print", ICON), save, keep) == ""  # an icon replaces its name
    assert said(("text field", "Reference", FIELD), save, frame=picture("TX-1031"), value="TX-1031") == ""


@pytest.mark.parametrize(("box", "is_against"), [(ICON, True), (SAVE, False)])
def test_only_a_text_confirms_a_control_of_a_program_that_did_not_answer_in_time(box: Box, is_against: bool) -> None:
    tree = tree_of(("button", "Save flag" if box is SAVE else "Print", box))
    late = replace(tree, applications=(replace(tree.applications[0], note=TOO_LATE),))
    assert bool(CHECK.contradiction(picture(), late, late.elements[1])) is is_against
    assert not CHECK.contradiction(picture(), tree, tree.elements[1])


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (("button", "Store", SAVE), "another text"),
        (("button", "Save flag", KEEP), "another text"),
        (("button", "Save", KEEP), "another text"),
        (("button", "Save flag", GROUND), "shows nothing"),
        (("button", "Save flag", Box(30, 30, 2, 2)), "too small"),
        (("button", "Save flag", Box(500, 300, 90, 30)), "shows nothing"),
        (("text field", "Reference", GROUND), "shows nothing"),
        (("text field", "Reference", SAVE), "another element"),
        (("button", "Save flag", ICON), "elsewhere"),
        (("button", "Save flag", FIELD), "elsewhere"),
    ],
)
def test_a_wrong_name_or_box_is_contradicted(told: tuple[str, str, Box], words: str) -> None:
    others = ("button", "Save flag", SAVE), ("button", "Don't save", KEEP)
    lie = [other for other in others if other[1] != told[1] and told[1] != "Store"]
    assert words in said(told, *lie)


@pytest.mark.parametrize(
    ("area", "first", "field", "reason"),
    [
        (Box(0, 70, 480, 170), True, FIELD, ""),
        (Box(0, 70, 480, 170), False, FIELD, "another element"),
        (Box(0, 70, 200, 170), True, FIELD, "another element"),
        (Box(0, 70, 480, 170), True, GROUND, "shows nothing"),
    ],
)
def test_a_field_may_be_drawn_over_the_text_area_of_an_editor(area: Box, first: bool, field: Box, reason: str) -> None:
    """A field of a hidden page has no frame on the picture. An area that comes later lies over the field."""
    window = Element(0, "window", "", frozenset({SHOWING}), Box.whole(SIZE), -1, "editor", 1)
    parts = [("text field", "Text", area, frozenset({SHOWING, "multi line"}))]
    parts.insert(1 if first else 0, ("text field", "Search", field, frozenset({SHOWING})))
    tree = ElementTree(
        (
            window,
            *(
                Element(n, role, name, states, box, 0, "editor", 1)
                for n, (role, name, box, states) in enumerate(parts, 1)
            ),
        )
    )
    (search,) = tree.find("text field", "Search")
    found = CHECK.contradiction(picture(), tree, search)
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("group", "other", "reason"),
    [(FIELD, "spin button", ""), (FIELD, "text field", "shows nothing"), (GROUND, "spin button", "shows nothing")],
)
def test_the_parts_of_a_date_have_one_frame(group: Box, other: str, reason: str) -> None:
    """The frame around fields of their own is not the edge of one field, and a hidden date has no frame."""
    within = [Box(group.left + 12 + 30 * place, group.top + 7, 24, 18) for place in range(2)]
    parts = [("panel", "Due", group, 0), ("spin button", "Year", within[0], 1), (other, "Month", within[1], 1)]
    window = Element(0, "window", "", frozenset({SHOWING}), Box.whole(SIZE), -1, "page", 1)
    made = (
        Element(n, role, name, frozenset({SHOWING}), box, above, "page", 1)
        for n, (role, name, box, above) in enumerate(parts, 1)
    )
    tree = ElementTree((window, *made))
    found = CHECK.contradiction(picture(), tree, tree.elements[2])
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("places", "reason"), [([SAVE], ""), ([GROUND], "another text"), ([SAVE, GROUND], "another text")]
)
def test_an_empty_field_may_show_the_name_of_a_button(places: list[Box], reason: str) -> None:
    buttons = [("button", "Save flag", box) for box in places]
    found = said(("text field", "Words", FIELD), *buttons, frame=picture("Save flag"))
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("area", "name", "reason"),
    [
        (FIELD, "Draft", ""),
        (FIELD, "Signed", "another text"),
        (Box(0, 80, 480, 60), "Draft", "another text"),
    ],
    ids=["its option", "another option", "a larger area"],
)
def test_a_list_field_without_a_value_may_show_the_name_of_the_area_that_it_fills(
    area: Box, name: str, reason: str
) -> None:
    """A table behind the field has the same word, and the picture does not show it there."""
    tree = tree_of(("combo box", "Status", FIELD), ("section", name, area), ("cell", "Draft", GROUND))
    window, field, around, cell = tree.elements
    tree = replace(tree, elements=(window, replace(around, id=1), replace(field, id=2, parent=1), cell))
    found = CHECK.contradiction(picture("Draft"), tree, tree.elements[2])
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("place", "name", "above", "reason"),
    [
        (Box(FIELD.left + 4, FIELD.top + 4, 60, 18), "Draft", 1, ""),
        (Box(FIELD.left + 4, FIELD.top + 4, 60, 18), "Signed", 1, "another text"),
        (Box(FIELD.left + 4, FIELD.top - 30, 60, 18), "Draft", 1, "another text"),
        (Box(FIELD.left + 4, FIELD.top + 4, 60, 18), "Draft", 0, "another text"),
    ],
    ids=["its option", "another option", "above it", "of another area"],
)
def test_a_list_field_without_a_value_may_show_the_text_that_lies_over_it(
    place: Box, name: str, above: int, reason: str
) -> None:
    """A table behind the field has the same word, and the picture does not show it there."""
    tree = tree_of(
        ("section", "", FIELD), ("label", name, place), ("combo box", "Status", FIELD), ("cell", "Draft", GROUND)
    )
    window, area, label, field, cell = tree.elements
    tree = replace(tree, elements=(window, area, replace(label, parent=above), replace(field, parent=1), cell))
    found = CHECK.contradiction(picture("Draft"), tree, tree.elements[3])
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("area", "button", "reason"),
    [
        (Box(FIELD.left, FIELD.top, FIELD.width + 40, FIELD.height), False, ""),
        (Box(FIELD.left, FIELD.top - 70, FIELD.width, 3 * FIELD.height), False, "another text"),
        (Box(FIELD.left, FIELD.top, FIELD.width + 40, FIELD.height), True, "another text"),
    ],
    ids=["its area", "an area of several rows", "an area with another control"],
)
def test_the_text_over_a_list_field_may_be_in_another_part_of_its_area(area: Box, button: bool, reason: str) -> None:
    """Element Plus and Ant Design have the field and the chosen option in two parts of one frame."""
    parts = ("section", "", FIELD)
    tree = tree_of(
        *(("section", "", area), parts, ("combo box", "Status", FIELD), parts),
        ("label", "Draft", Box(FIELD.left + 4, FIELD.top + 4, 60, 18)),
        ("button" if button else "image", "Clear", Box(FIELD.right, FIELD.top, 40, 32)),
        ("cell", "Draft", GROUND),
    )
    parents = (-1, 0, 1, 2, 1, 4, 1, 0)
    tree = replace(tree, elements=tuple(map(lambda each, up: replace(each, parent=up), tree.elements, parents)))
    found = CHECK.contradiction(picture("Draft"), tree, tree.elements[3])
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("value", "outline", "reason"),
    [
        ("zusammen zerren", "black", ""),
        ("zusammen", "black", "shows nothing there"),
        ("zusammen zerren", "white", "shows nothing there"),
    ],
    ids=["its value", "another value", "a text without a frame"],
)
def test_a_text_may_fill_a_narrow_field(value: str, outline: str, reason: str) -> None:
    """The upper edges of its letters look like a line inside. A list field is as wide as its longest option."""
    text, font = "zusammen zerren", ImageFont.load_default(size=16)
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    draw = ImageDraw.Draw(image)
    field = Box(20, 90, int(draw.textlength(text, font=font)) + 4, 24)
    draw.rectangle((field.left, field.top, field.right - 1, field.bottom - 1), fill="white", outline=outline)
    draw.text((field.left + 2, field.top + 2), text, fill="black", font=font)
    frame = Frame(image.tobytes(), SIZE, ":test")
    found = said(("combo box", "State", field), frame=frame, value=value)
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("name", "shown", "is_confirmed"),
    [
        ("Sunday, January 3, 2027", "3", True),
        ("Sunday, January 3rd, 2027", "3", True),
        ("3", "3", True),
        ("Monday, January 4, 2027", "3", False),
        ("January 2027", "2027", False),
        ("Sunday, January 3, 2027", "2027", False),
        ("3/1/2027", "3", False),
        ("Delete 3 items", "3", False),
    ],
)
def test_the_number_on_a_day_of_a_calendar_confirms_it_over_a_field(name: str, shown: str, is_confirmed: bool) -> None:
    """A page draws its calendar over other fields of the form. An outdated tree may have the days of another month."""
    day = Box(FIELD.left + 4, FIELD.top + 1, 60, 30)
    tree = tree_of(("button", name, day), ("text field", "Remark", FIELD))
    late = replace(tree, applications=(replace(tree.applications[0], note=TOO_LATE),))
    assert (not CHECK.contradiction(picture(shown), tree, tree.elements[1])) is is_confirmed
    assert CHECK.contradiction(picture(shown), late, late.elements[1])


def test_a_text_other_than_the_name_can_be_allowed() -> None:
    assert "another text" in said(("button", "Store this remark", SAVE))
    assert said(("button", "Store this remark", SAVE), also="Save flag") == ""


def test_equal_pixels_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    check, read = ElementCheck(reader), list[object]()
    piece: Callable[..., object] = reader.read_piece
    monkeypatch.setattr(reader, "read_piece", lambda pixels: (read.append(pixels), piece(pixels))[1])
    tree = tree_of(("button", "Store", SAVE))
    for _ in range(3):
        assert "another text" in check.contradiction(picture(), tree, tree.elements[1])
    assert 1 <= len(read) <= 2  # once exactly, and once with space around it


def test_a_single_text_on_a_control_is_read_without_detection(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    monkeypatch.setattr(reader._ocr, "find", lambda part: pytest.fail("it was searched for"))
    tree = tree_of(("button", "Save flag", SAVE), ("button", "Don't save", KEEP), ("text field", "Reference", FIELD))
    check = ElementCheck(reader)
    assert check.at_once(picture(), tree, tree.elements[1]) is None
    assert (
        check.contradiction(picture(), tree, tree.elements[1]) == check.at_once(picture(), tree, tree.elements[1]) == ""
    )
    assert check.lines(picture(), FIELD) == (), "an empty field has no text"


def test_a_row_must_equal_the_text_exactly() -> None:
    save = CHECK.row(picture(), SAVE, "Save flag")
    assert save is not None
    assert SAVE.encloses(save.box)
    assert CHECK.row(picture(), SAVE, "Save flags") is None
    assert CHECK.row(picture(), SAVE, "Save") is None
    assert CHECK.row(picture(), KEEP, "Save flag") is None
    assert CHECK.row(picture("TX-1031"), FIELD, "TX-1037") is None
    assert CHECK.row(picture(), Box.around((SAVE, KEEP)), "Save flag") is None, "two texts are there"
    assert CHECK.row(picture(), Box(0, 0, 480, 240), "Save flag") is None


def test_at_once_answers_from_the_cache_only() -> None:
    check, tree = ElementCheck(Reader()), tree_of(("button", "Save flag", SAVE), ("button", "Store", KEEP))
    for place, element in enumerate(tree.elements[1:]):
        assert check.at_once(picture(), tree, element) is None
        said = check.contradiction(picture(), tree, element, whole=False)
        assert bool(said) == bool(place)
        assert check.at_once(picture(), tree, element) == said
    field = tree_of(("text field", "Reference", FIELD))
    assert check.at_once(picture("TX-1"), field, field.elements[1]) is None
    bare = tree_of(("button", "Save flag", GROUND))
    assert "shows nothing" in (check.at_once(picture(), bare, bare.elements[1]) or "")


def test_without_ocr_blank_pixels_still_contradict_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_check, "can_read", lambda: False)
    assert said(("button", "Don't save", SAVE)) == ""
    assert "shows nothing" in said(("button", "Save flag", GROUND))


def test_the_text_of_the_next_cell_may_follow_the_ellipsis_of_a_narrow_cell() -> None:
    for read, expected in (("Cedar ... olduser", False), ("Cedar… olduser", False), ("Berg Sh... olduser", True)):
        for role in ("cell", "button"):
            tree = tree_of((role, "Cedar Foods", SAVE), ("cell", "Berg Shipping", KEEP))
            found = contradicts_name(tree.elements[1], read, ["Berg Shipping"])
            assert found is (expected or role == "button"), (read, role)


def test_names_fit_variants_of_themselves_only() -> None:
    assert all(agrees(*pair) for pair in (("Save", "SAVE"), ("Log in", "Login"), ("OK", "0K"), ("Yes", "Ves")))
    longer = ("Save", "Save Ctrl+S"), ("Inbox", "Inbox 3"), ("Flag for review", "Flag fo…")
    assert all(agrees(*pair) for pair in longer)
    for name, read in (("Save", "Save as"), ("Save as", "Save"), ("Item 1", "Item 2"), ("Yes", "No"), ("", "Save")):
        assert not agrees(name, read), (name, read)
    assert fit("Button B", "Button B") > fit("Button A", "Button B") >= 0.84  # so only the other element's name decides
    swapped = tree_of(("button", "Save flog", SAVE), ("button", "Save flag", KEEP))
    assert "another text" in CHECK.contradiction(picture(), swapped, swapped.elements[1])


@pytest.mark.parametrize(
    ("value", "beside", "words"),
    [
        ("", "", ""),  # its pixels are blank, and its name A4 is written nowhere on it
        ("TX-1031", "", "another text"),
        ("Reaching over", "Reaching over the edge", ""),  # a long text of the cell at its left
    ],
)
def test_an_empty_cell_of_a_sheet_shows_no_text_of_its_own(value: str, beside: str, words: str) -> None:
    left = Box(FIELD.left - 16, FIELD.top, 12, FIELD.height)
    tree = tree_of(("table", "Sheet", Box.whole(SIZE)), ("cell", "B4", FIELD), ("cell", "A4", left))
    window, table, cell, other = tree.elements
    table = replace(table, states=table.states | SHEET)
    cell, other = replace(cell, parent=1), replace(other, parent=1, value=beside)
    tree = ElementTree((window, table, cell, other))
    assert words in CHECK.contradiction(picture(value), tree, cell)
    assert bool(words) is bool(CHECK.contradiction(picture(value), tree, cell))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param((20, 40), "", id="above the left edge of the check box"),
        pytest.param((44, 66), "", id="right of the check box"),
        pytest.param((44, 40), "elsewhere", id="right of the check box above"),
        pytest.param((20, 120), "elsewhere", id="below the check box"),
        pytest.param((20, 5), "elsewhere", id="far above it"),
    ],
)
def test_the_name_of_a_check_box_is_beside_it_or_above_its_left_edge(text: tuple[int, int], words: str) -> None:
    made = Image.new("RGB", (300, 200), "white")
    draw = ImageDraw.Draw(made)
    draw.rectangle((20, 68, 34, 82), "white", "black")
    draw.text(text, "Paid", "black", ImageFont.truetype("DejaVuSans.ttf", 16))
    frame = Frame(made.tobytes(), Size(300, 200), ":0")
    why = said(("check box", "Paid", Box(20, 68, 15, 15)), frame=frame)
    assert (words in why) if words else not why


@pytest.mark.parametrize(("left", "beside"), [(28, True), (34, True), (48, False)])
def test_the_box_of_a_text_above_a_check_box_is_larger_than_its_letters(left: int, beside: bool) -> None:
    assert _is_beside(Box(38, 493, 14, 14), Box(left, 452, 54, 35)) is beside


@pytest.mark.parametrize(
    ("name", "text_left", "other", "words"),
    [
        ("Bank", 182, None, ""),  # the reported box begins in the second letter
        ("Bank", 182, Box(160, 60, 30, 24), "another text"),  # the text is the neighboring cell's
        ("Bark", 182, None, "another text"),
        ("Bank", 166, None, "elsewhere"),  # too far to the left
        ("Rank", 182, None, "another text"),
    ],
)
def test_the_text_of_a_cell_in_a_tree_may_begin_left_of_it(
    name: str, text_left: int, other: Box | None, words: str
) -> None:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    font = ImageFont.load_default(size=20)
    ImageDraw.Draw(image).text((text_left, 60), "Bank", fill="black", font=font)
    frame = Frame(image.tobytes(), SIZE, ":test")
    beside = [] if other is None else [("cell", "Bank", other)]
    reason = said(("cell", name, Box(200, 60, 160, 24)), *beside, frame=frame)
    assert (words in reason) if words else not reason, reason


ROWS_WITH_ICON = [
    ("Adler Portal", "Adler P…"),
    ("Berg Bank", "Berg Ba…"),
    ("Dorn Shop", "Dorn Sh…"),
    ("Ferry", "Ferry"),
]


def icon_rows() -> tuple[Frame, list[Box]]:
    """Return a picture of rows with a key as an icon before a text that a narrow column may cut off."""
    image, boxes = Image.new("RGB", (120, 30 * len(ROWS_WITH_ICON)), "#f7f7f7"), []
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=13)
    for number, (_, shown) in enumerate(ROWS_WITH_ICON):
        top = 30 * number
        draw.ellipse((10, top + 5, 20, top + 15), fill="#ff9a00")
        draw.rectangle((13, top + 8, 17, top + 10), fill="#f7f7f7")
        draw.rectangle((13, top + 15, 17, top + 24), fill="#ff9a00")
        draw.text((31, top + 6), shown.replace("…", "..."), fill="#303030", font=font)
        boxes.append(Box(0, top, 95, 30))
    return Frame(image.tobytes(), Size(*image.size), ":test"), boxes


def test_a_text_after_an_icon_confirms_a_cell_although_ocr_reads_the_icon_as_a_digit() -> None:
    frame, boxes = icon_rows()
    names = [name for name, _ in ROWS_WITH_ICON]
    tree = tree_of(*(("cell", name, box) for name, box in zip(names, boxes, strict=True)))
    assert [CHECK.contradiction(frame, tree, each) for each in tree.elements[1:]] == [""] * len(names)


def test_a_text_after_an_icon_contradicts_the_name_of_another_row() -> None:
    frame, boxes = icon_rows()
    names = [name for name, _ in ROWS_WITH_ICON]
    tree = tree_of(*(("cell", name, box) for name, box in zip([*names[1:], names[0]], boxes, strict=True)))
    assert [CHECK.contradiction(frame, tree, each) for each in tree.elements[1:]] == [ANOTHER_TEXT] * len(names)


@pytest.mark.parametrize(
    ("name", "shown", "against"),
    [
        ("Vanilla ice", "Vanilla ic…", ""),
        ("Vanilla rice", "Vanilla ic…", ANOTHER_TEXT),
        ("Mint spice", "Mint pic…", ANOTHER_TEXT),
        ("Dorn Shop", "Dorn Sh…", ""),
        ("Dorn Ship", "Dorn Hip…", ANOTHER_TEXT),
    ],
)
def test_a_cut_off_text_that_lacks_a_letter_is_another_text(
    monkeypatch: pytest.MonkeyPatch, name: str, shown: str, against: str
) -> None:
    """Its row is read again in twice its size, as OCR may lose a letter of a small text."""
    monkeypatch.setattr("tests.vision.test_element_check.ROWS_WITH_ICON", [(name, shown)])
    frame, boxes = icon_rows()
    tree = tree_of(("cell", name, boxes[0]))
    assert CHECK.contradiction(frame, tree, tree.elements[1]) == against


@pytest.mark.parametrize(
    ("name", "read", "others", "is_against"),
    [
        ("Vanilla ice cream", "Vanilla ic...", (), False),
        ("Log", "Log ...", (), False),  # the button of a menu follows the name
        ("Notes", "Notes ...", ("Notes",), False),  # in another row, too
        ("Vanilla rice", "Vanilla ic...", (), True),  # the ice cream, which the tree lacks
        ("Vanilla tart", "Vanilla art...", (), True),
        ("Dorn Shop", "Dorn h...", (), True),  # OCR may have lost a letter: another reading tells
        ("Dorn Shop", "Dorn h", (), True),  # nothing cuts it off
        ("Dorn Stop", "Dorn Sho..", ("Dorn Shop",), True),
        ("Berg 2024 A", "Berg 202...", (), False),
        ("Berg 2024 A", "Berg 207...", (), True),  # digits differ
        ("Berg 2024 A", "Berg 204...", (), True),  # a digit is missing
        ("Berg Bank", "Bar...", (), True),  # too short
        ("Paid invoices of 2026", "Unpaid invoi...", (), True),  # more letters, which reverse the meaning
        ("Olna Reis, London", "Olga Reis, Lo...", (), True),  # a letter that does not look alike
        ("Alma Reis, London", "Alma Rels, Lo...", (), False),  # a letter that does
    ],
)
def test_the_beginning_of_a_cell_lacks_no_letter(
    name: str, read: str, others: tuple[str, ...], is_against: bool
) -> None:
    cell = tree_of(("cell", name, FIELD)).elements[1]
    assert contradicts_name(cell, read, others) is is_against


def test_the_line_below_a_shortcut_letter_makes_a_q_of_an_o() -> None:
    button = tree_of(("button", "OK", SAVE)).elements[1]
    assert not contradicts_name(button, "企QK", ("Cancel",))
    assert contradicts_name(button, "企QK", ("QK",))
    assert contradicts_name(button, "企QN", ())


def test_a_key_in_a_list_has_no_shortcut() -> None:
    cell = tree_of(("cell", "AO-17", FIELD)).elements[1]
    assert contradicts_name(cell, "AQ-17", ())


@pytest.mark.parametrize(
    ("name", "inside", "reason"),
    [
        pytest.param("Express Save flag", "Save flag", "", id="the text inside is a part of the name"),
        pytest.param("Express Urgent", "Save flag", ANOTHER_TEXT, id="it is no part of the name"),
        pytest.param("Express Urgent", "Urgent", ANOTHER_TEXT, id="the picture shows another text"),
        pytest.param("Express Save flag", "", ANOTHER_TEXT, id="no text is reported inside"),
    ],
)
def test_a_control_may_show_only_the_words_of_its_name_that_it_reports_inside(
    name: str, inside: str, reason: str
) -> None:
    """In OpenUI5 the name of a check box begins with the label of its row."""
    tree = tree_of(("check box", name, SAVE), ("label", inside, SAVE))
    tree = replace(tree, elements=(*tree.elements[:2], replace(tree.elements[2], parent=1)))
    assert CHECK.contradiction(picture(), tree, tree.elements[1]) == reason


@pytest.mark.parametrize(
    ("parent", "box", "is_another"),
    [
        pytest.param(1, Box(10, 10, 102, 20), False, id="the two inputs of a list field"),
        pytest.param(1, Box(10, 10, 150, 20), True, id="a field over a part of another one"),
        pytest.param(3, Box(10, 10, 100, 20), True, id="a field of another page in the same place"),
    ],
)
def test_two_inputs_of_one_list_field_are_one_control(parent: int, box: Box, is_another: bool) -> None:
    shown = frozenset({"showing"})
    tree = ElementTree(
        (
            Element(0, "window", "Orders", shown, Box(0, 0, 400, 300), -1, "browser", 1),
            Element(1, "section", "", shown, Box(0, 0, 400, 100), 0, "browser", 1),
            Element(2, "section", "", shown, Box(10, 10, 100, 20), 1, "browser", 1),
            Element(3, "section", "", shown, Box(0, 0, 400, 100), 0, "browser", 1),
            Element(4, "text field", "", shown, Box(10, 10, 100, 20), 2, "browser", 1),
            Element(5, "text field", "", shown, box, parent, "browser", 1),
        )
    )
    assert is_another_there(tree, tree.elements[4]) is is_another
