"""Mining pictures: the texts expected after a step, and targets that are unique on the whole screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holo_tasks.compiler.effects import new_texts, state_of
from holo_tasks.compiler.marks import marks_of
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import Picture, RecordedStep
from holo_tasks.compiler.targets import target_at
from holo_tasks.compiler.titles import windows_of
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame, OnScreen
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.window_titles import CUT, shareable_titles
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.read_runs import click, compiled, recording, screen, write

SIZE = Size(640, 400)
ORDERS: tuple[dict[str, Value], ...] = ({"order": "AB-1207"}, {"order": "CD-3391"})


def sight(*texts: tuple[str, int, int]) -> Sight:
    return Sight(tuple(Line(text, Box(left, top, 8 * len(text), 16)) for text, left, top in texts), SIZE)


def seen(screen: int, *texts: tuple[str, int, int]) -> ReadPicture:
    return ReadPicture(Picture(str(texts), Box.whole(SIZE), SIZE), sight(*texts), screen)


def of_order(number: str, *more: tuple[str, int, int]) -> ReadPicture:
    return seen(1, ("ORDER DETAILS", 20, 50), ("Order", 20, 120), (number, 200, 120), *more)


MENU = seen(0, ("MAIN MENU", 20, 50), ("Newest order", 20, 120))


def test_the_item_is_expected_on_the_screen_after_a_step() -> None:
    after = [of_order("AB-1207"), of_order("CD-3391")]
    then = new_texts([MENU, MENU], after, ORDERS, [MENU.sight], ["AB-1207", "CD-3391"], ["order"])
    assert then == ["ORDER DETAILS", "Order", "{order}"]


def test_an_item_shown_before_or_not_in_all_runs_is_not_expected() -> None:
    after = [of_order("AB-1207"), of_order("CD-3391")]
    listed = seen(0, ("MAIN MENU", 20, 50), ("AB-1207", 20, 120), ("CD-3391", 20, 180))
    private = ["AB-1207", "CD-3391"]
    assert "{order}" not in new_texts([listed, listed], after, ORDERS, [MENU.sight], private, ["order"])
    other = [of_order("AB-1207"), of_order("XX-0000")]
    assert "{order}" not in new_texts([MENU, MENU], other, ORDERS, [MENU.sight], private, ["order"])


def test_on_an_unchanged_screen_the_item_is_expected_within_any_text() -> None:
    before = seen(0, ("ORDERS", 20, 50), ("Show", 20, 80))
    after = [seen(0, ("ORDERS", 20, 50), ("Show", 20, 80), (f"Order {one['order']}", 20, 160)) for one in ORDERS]
    then = new_texts([before, before], after, ORDERS, [], ["AB-1207", "CD-3391"], ["order"])
    assert then == ["*{order}*"]


def test_a_text_that_may_match_by_chance_is_not_expected() -> None:
    before = seen(0, ("ORDERS", 20, 50))
    for told, texts in [
        ([{"order": "AB-1207"}], ["AB-1207"]),  # one run is not enough
        ([{"currency": "EUR"}] * 2, ["EUR", "EUR"]),  # the value may be the same for all items
        ([{"pieces": 12}, {"pieces": 15}], ["12", "15"]),  # short
    ]:
        after = [seen(0, ("ORDERS", 20, 50), (text, 20, 160)) for text in texts]
        values: list[dict[str, Value]] = [*told]  # type: ignore[list-item]
        assert new_texts([before] * len(after), after, values, [], texts, [*values[0]]) == []


LIST = ("PIECES", 20, 50)
ALONE = sight(LIST, ("Paper", 20, 120), ("on hand", 120, 120), ("Delete", 300, 120))
TWO = sight(
    LIST, ("Paper", 20, 120), ("on hand", 120, 120), ("Delete", 300, 120), ("Pencils", 20, 180), ("Delete", 300, 180)
)
PRESSED = ALONE.lines[3].box.center


def test_a_target_seen_twice_in_another_picture_is_identified_by_its_row() -> None:
    values: dict[str, Value] = {"thing": "Paper"}
    alone, beside = (
        target_at(PRESSED, ALONE, values),
        target_at(PRESSED, ALONE, values, [(ALONE, values), (TWO, values)]),
    )
    assert alone is not None
    assert beside is not None
    assert (alone.text, alone.relations) == ("Delete", {})
    assert (beside.text, beside.relations) == ("Delete", {"right_of": "{thing}"})


@pytest.mark.parametrize(
    ("text", "typed", "told"),
    [
        ("14", True, None),  # the hour that the field held before
        (":27", True, None),
        ("14", False, "14"),  # a day of a calendar
        ("Type here", True, "Type here"),
        ("4711", True, "{order}"),
    ],
)
def test_a_number_in_a_field_does_not_identify_the_field(text: str, typed: bool, told: str | None) -> None:
    shown = sight(LIST, (text, 300, 120))
    found = target_at(shown.lines[1].box.center, shown, {"order": "4711"}, typed=typed)
    assert (found and found.text) == told


def test_a_target_is_not_identified_by_a_neighbor_of_one_item_only() -> None:
    found = target_at(PRESSED, ALONE, {}, [(ALONE, {}), (TWO, {})])
    assert found is not None
    assert (found.text, found.relations) == ("Delete", {})


def test_a_button_that_an_unfiltered_list_shows_twice_is_identified_by_its_row() -> None:
    def listed(*rows: tuple[str, str]) -> Sight:
        lines = [
            ((20, 160 + 40 * n, name), (200, 160 + 40 * n, state), (400, 160 + 40 * n, "Open"))
            for n, (name, state) in enumerate(rows)
        ]
        return screen(
            (20, 20, "LIST OF INVOICES"),
            (20, 80, "Customer"),
            *[text for row in lines for text in row],
            fields=[(200, 78, "")],
        )

    runs, shown = [], []
    for number, (name, state) in enumerate([("Miller Ltd", "paid"), ("Baker Inc", "overdue")]):
        everything = listed(("Miller Ltd", "paid"), ("Baker Inc", "overdue"))
        found, last = listed((name, state)), screen((20, 20, "RECORD SHEET"), (20, 80, name), (20, 200, "Pay it now"))
        did = [click(everything, "Customer"), write(everything, name), click(found, "Open")]
        runs.append(recording(str(number), did, last, customer=name))
        shown += [everything, found, last]
    text = compiled(shown, *runs).text
    assert "paid" not in text
    assert "overdue" not in text
    assert "right_of: '{customer}'" in text


def test_the_first_text_of_a_row_does_not_identify_a_screen_of_one_item() -> None:
    listed = sight(("LIST OF INVOICES", 20, 50), ("Miller Ltd", 20, 120), ("paid", 300, 120))
    others = [MENU.sight]
    assert marks_of([(listed, ORDERS[0])], others, []) == ("LIST OF INVOICES",)
    both = marks_of([(listed, told) for told in ORDERS], others, [])
    assert both == ("LIST OF INVOICES", "Miller Ltd")  # the same in both items, so not a value of the item


def opened(*titles: str, before: tuple[str, ...] = ("Orders",)) -> RecordedStep:
    """Return a step after which windows with these titles are on the screen."""
    was, came = (Picture(str(each), Box.whole(SIZE), SIZE, windows=each) for each in (before, titles))
    return RecordedStep(1, "click", {}, "", was, came)


def test_a_window_per_item_is_expected_with_the_items_title() -> None:
    steps = [opened(f"Order {one['order']}", "Orders") for one in ORDERS]
    assert windows_of(steps, ORDERS, ["AB-1207", "CD-3391"]) == ["Order {order}"]


def test_a_truncated_title_is_not_expected() -> None:
    """The remaining part may end in a piece of the item's key, which fits no other item."""
    long = "Northwind Traders International, accounts payable, invoice INV-00004{}, ledger"
    shown = [
        Frame(bytes(3), Size(1, 1), ":0", windows=(OnScreen(Box(0, 0, 1, 1), (Owner(title=title),), True),))
        for title in (long.format(2) + "s", long.format(3) + "s and more, which nobody reads to its end")
    ]
    told: list[dict[str, Value]] = [{"invoice": "INV-000042"}, {"invoice": "INV-000043"}]
    titles = [shareable_titles(frame, None, [], str) for frame in shown]
    assert titles[1][0].endswith(CUT)
    assert windows_of([opened(*each) for each in titles], told, []) == []


def test_an_ambiguous_title_is_not_expected() -> None:
    assert windows_of([opened("Order AB-1207")], ORDERS[:1], ["AB-1207"]) == []  # one item is not enough
    of_customers = [opened(f"Customer {name}") for name in ("Fischer", "Harvest")]
    assert windows_of(of_customers, ORDERS, ["AB-1207", "CD-3391"]) == []
    of_both = [opened("Paid by Fischer and Sons")] * 2  # the answer of one run
    assert windows_of(of_both, ORDERS, ["AB-1207", "Fischer and Sons"]) == []
    assert windows_of([opened("Orders", "* new")] * 2, ORDERS, []) == []
    assert windows_of([opened("Orders")] * 2, ORDERS, []) == []  # it was open before


def test_a_state_reached_in_all_runs_is_expected() -> None:
    def led(begun: str, came: str) -> RecordedStep:
        return replace(opened(), begun_at=begun, came_to=came)

    assert state_of([led("search", "record"), led("search", "record")]) == "record"
    assert state_of([led("search", "record"), led("search", "nothing found")]) == ""
    assert state_of([led("record", "record")]) == ""
    assert state_of([led("", "")]) == ""  # undeclared states


def test_a_part_of_a_row_that_ocr_joined_elsewhere_does_not_identify_a_screen() -> None:
    apart = sight(("File", 20, 20), ("Edit", 60, 20))
    joined, longer = sight(("File Edit", 20, 20), ("FORM", 20, 80)), sight(("File list", 20, 20), ("FORM", 20, 80))
    assert marks_of([(apart, {})], [joined], []) == ()
    assert marks_of([(apart, {})], [longer], []) == ("File",), "another text there is no part of this row"


def test_a_menu_bar_identifies_a_screen_only_if_nothing_else_does() -> None:
    menus = ("File Edit View Help", 20, 20)
    both, alone = sight(menus, ("Saved today", 20, 120)), sight(menus)
    assert marks_of([(both, {})], [MENU.sight], []) == ("Saved today",)
    assert marks_of([(alone, {})], [MENU.sight], []) == ("File Edit View Help",)
    pieces = [("File", 20, 20), ("Edit View", 60, 20), ("Help", 160, 20)]
    assert marks_of([(sight(*pieces, ("Saved today", 20, 120)), {})], [MENU.sight], []) == ("Saved today",)


FILES = Sight(
    (
        *(Line("Branch: main", Box(20, 20, 96, 16)), Line("Changed files", Box(20, 40, 104, 16))),
        *(
            Line(f"letter-{name}.txt", Box(40, top, 120, 16))
            for name, top in (("adler", 64), ("berg", 84), ("cedar", 104))
        ),
        *(Line("Stage all", Box(230, 204, 72, 16)), Line("Commit", Box(230, 228, 48, 16))),
        Line("Message:", Box(320, 180, 64, 16)),
    ),
    SIZE,
    fields=(Box(20, 60, 180, 80), Box(220, 200, 400, 80)),
)
"""A list, and a frame around two buttons and a text area, which both look like fields."""
OF_FILE: dict[str, Value] = {"file": "letter-berg.txt"}


def test_a_row_of_a_list_is_identified_by_its_text_and_not_by_a_label_of_the_list() -> None:
    for typed in (False, True):
        row = target_at(Point(34, 92), FILES, OF_FILE, typed=typed)
        assert row is not None
        assert (row.text, row.field) == ("{file}", None)


def test_a_button_in_a_frame_is_identified_by_its_text_and_the_field_beside_it_by_its_label() -> None:
    button = target_at(Point(250, 236), FILES, OF_FILE, typed=False)
    assert button is not None
    assert (button.text, button.field) == ("Commit", None)
    area = target_at(Point(500, 250), FILES, OF_FILE, typed=True)
    assert area is not None
    assert area.field == "Message:"


def test_a_text_area_that_holds_several_lines_keeps_its_label_if_a_text_is_typed() -> None:
    lines = Line("Remark:", Box(20, 40, 56, 16)), *(Line("paid in May", Box(24, top, 88, 16)) for top in (64, 84))
    area = target_at(Point(60, 92), Sight(lines, SIZE, fields=(Box(20, 60, 400, 80),)), {}, typed=True)
    assert area is not None
    assert area.field == "Remark:"


def test_a_text_above_another_label_is_no_label_of_the_field_below_both() -> None:
    assert target_at(Point(150, 130), FILES, OF_FILE, typed=True) == Target(field="Changed files")
    without = replace(FILES, fields=(*FILES.fields, Box(200, 36, 80, 20)))
    assert target_at(Point(150, 130), without, OF_FILE, typed=True) is None


def test_a_press_on_a_page_that_looks_like_a_field_is_no_press_on_the_middle_of_the_page() -> None:
    below = (*(Line(name, Box(20, top, 48, 16)) for name, top in (("Room", 90), ("Guest", 150), ("Board", 210))),)
    page = Sight((Line("Rooms for the summer", Box(200, 20, 160, 16)), *below), SIZE, fields=(Box(0, 40, 640, 360),))
    for typed in (False, True):
        assert target_at(Point(180, 98), page, {}, typed=typed) is None
        label = target_at(Point(44, 98), page, {}, typed=typed)
        assert label is not None
        assert (label.text, label.field) == ("Room", None)
    one_line = replace(page, lines=(page.lines[0], below[0]))
    assert target_at(Point(180, 98), one_line, {}, typed=True) == Target(field="Rooms for the summer")


def test_a_press_beside_the_texts_of_a_frame_is_no_press_on_a_field_if_nothing_is_typed() -> None:
    assert target_at(Point(500, 250), FILES, OF_FILE, typed=False) is None


@pytest.mark.parametrize(("top", "found"), [(40, True), (44, True), (50, False), (120, False)])
def test_a_label_whose_box_reaches_into_a_field_is_above_it_and_one_on_its_border_is_not(top: int, found: bool) -> None:
    field = Box(20, 66, 300, 80)
    form = Sight((Line("Remark:", Box(24, top, 60, 26)),), SIZE, fields=(field,))
    assert form.field_at("Remark:") == (field if found else None)


BUTTONS = Sight(
    (
        Line("Publisher", Box(10, 20, 80, 16)),
        *(Line("XCose", Box(30, 64, 60, 16)), Line("New Entry", Box(135, 64, 70, 16))),
        Line("@", Box(24, 104, 12, 16)),
    ),
    SIZE,
    fields=(
        Box(100, 16, 140, 24),
        Box(20, 60, 80, 24),
        Box(120, 60, 100, 24),
        Box(20, 100, 20, 24),
        Box(41, 100, 90, 24),
    ),
)
"""A field with its label, two buttons in a row, and a field with a sign joined to it."""


def test_a_button_beside_another_is_identified_by_its_own_text() -> None:
    button = target_at(Point(170, 72), BUTTONS, {}, typed=False)
    assert button is not None
    assert (button.text, button.field) == ("New Entry", None)
    field = target_at(Point(170, 28), BUTTONS, {})
    assert field is not None
    assert field.field == "Publisher"
    joined = replace(BUTTONS, lines=(*BUTTONS.lines[:3], Line("Price", Box(22, 104, 16, 16))))
    price = target_at(Point(90, 112), joined, {})
    assert price is not None
    assert price.field == "Price", "a box that is joined to a field may have its label"


MENU_BAR = Sight(
    (
        Line("prices.txt", Box(220, 10, 90, 16)),
        Line("File Edit Format Run Options Window Help", Box(20, 40, 320, 16)),
        *(
            Line(text, Box(60, top, 8 * len(text), 16))
            for text, top in (("Undo", 70), ("Paste", 92), ("Find", 114), ("Replace", 136))
        ),
    ),
    SIZE,
    fields=(Box(56, 64, 200, 94),),
)
"""A menu bar that OCR reads as one text, and an open menu, which looks like a field."""


def test_captions_that_are_read_as_one_text_identify_none_at_its_side() -> None:
    assert target_at(Point(72, 48), MENU_BAR, {}) is None, "the middle of the text is another menu"
    bar = replace(MENU_BAR, fields=(Box(10, 34, 400, 28),))
    assert target_at(Point(72, 48), bar, {}) is None, "the title of the window is no label of the bar"
    sentence = replace(MENU_BAR, lines=(Line("Open the list of all orders", Box(20, 40, 320, 16)),))
    row = target_at(Point(72, 48), sentence, {})
    assert row is not None
    assert row.text == "Open the list of all orders"


def test_a_row_of_a_menu_that_closes_is_no_field_although_a_text_is_typed_next() -> None:
    row = target_at(Point(80, 144), MENU_BAR, {}, typed=True, changed=Box(0, 60, 400, 200))
    assert row is not None
    assert (row.text, row.field) == ("Replace", None)
    lines = (Line("Remark:", Box(60, 40, 56, 16)), *MENU_BAR.lines[2:])
    area = target_at(Point(80, 144), replace(MENU_BAR, lines=lines), {}, typed=True, changed=Box(80, 138, 2, 14))
    assert area is not None
    assert area.field == "Remark:", "only the caret of a text area changes"
