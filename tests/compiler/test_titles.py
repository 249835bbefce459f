"""Titles of windows replace what OCR read in title bars, and show that the work is done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.compiler.recording import Picture
from holo_tasks.compiler.targets import title_of_item
from holo_tasks.compiler.titles import _window_title, with_titles
from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import compiled
from tests.support.recorded_runs import SIZE, Act, Page, page, record

LIST, RECORD = "market - library", "Edit the record of {}"
READ = "Edit the recoid of {}"
"""A title as OCR reads it."""


def titled(one: Page, *titles: str) -> Page:
    return replace(one, windows=titles)


def run(home: Path, last: Page, *, bar: str = READ, heading: str = "", answer: str = "done") -> str:
    """Return the playbook of a run that opens the record of a clerk in a new window, types a remark and stores it."""
    found = titled(page((20, 10, LIST), (20, 60, "maybach"), (20, 380, "Ready")), LIST)
    shown = [(20, 10, bar.format("maybach")), (20, 60, "Remark"), (20, 300, "Store")]
    if heading:
        shown.append((20, 180, heading))
    asked, typed = (
        titled(page(*shown, fields=[(120, 60, held)]), RECORD.format("maybach")) for held in ("", "pays late")
    )
    steps = [
        Act(found, click="maybach"),
        Act(asked, click="Remark"),
        Act(asked, write="pays late"),
        Act(typed, click="Store"),
    ]
    trace = record(home, "titles", "Enter the remark for maybach. Answer done.", steps, last, answer)
    _, _, text = compiled(home, trace, params=("clerk=maybach", "remark=pays late"))
    return text


def the_list(*titles: str) -> Page:
    return titled(page((20, 10, LIST), (20, 60, "maybach"), (20, 380, "Ready")), *titles)


def test_a_window_replaces_the_text_that_ocr_read_in_its_title_bar(tmp_path: Path) -> None:
    text = run(tmp_path, the_list(LIST))
    assert "{window: 'Edit the record of {clerk}'}" in text, text
    assert "recoid" not in text


def test_a_text_of_the_page_stays_a_text(tmp_path: Path) -> None:
    text = run(tmp_path, the_list(LIST), bar="", heading="All remarks of maybach")
    assert "All remarks of {clerk}" in text, text
    assert "window: Edit" not in text


@pytest.mark.parametrize(
    ("title", "pattern"),
    [
        ("library - /home/ann/books/all.bib (BibTeX)", "library - *all.bib (BibTeX)"),
        ("invoices.txt (~/May) - Editor", "invoices.txt (*) - Editor"),
        (r"C:\books\all.bib - library", "*all.bib - library"),
        ("notes.ctd - /home/ann/my notes - CherryTree", "notes.ctd - * - CherryTree"),
        ("Orders / Open and/or new - library", "Orders / Open and/or new - library"),
        ("Orders of 5/6/2026", "Orders of *"),
        ("Inbox (12) - Mail", "Inbox * - Mail"),
        ("haas.odt - Writer", "* - Writer"),
        ("Order of maybach - Haas", "Order of {clerk} - *"),
        ("haas.odt - 2026", ""),  # any title would match
    ],
)
def test_words_of_a_title_that_may_be_others_on_another_day_are_not_required(title: str, pattern: str) -> None:
    assert _window_title(title, {"file": "/home/ann/haas.odt", "clerk": "maybach"}, []) == pattern


def form() -> Page:
    """Return the form after it was stored. Only a frame in it is new."""
    shown = page((20, 10, "Form"), (20, 60, "Remark"), (20, 300, "Store"), fields=[(120, 60, "pays late")])
    return replace(shown, frames=(Box(500, 300, 40, 20),))


@pytest.mark.parametrize(
    ("last", "is_evidence"),
    [
        (LIST, True),  # the list that the record was opened from
        ("The record of maybach is stored", True),
        ("Remarks of other clerks", False),  # a new title without the item may belong to this run only
        (RECORD.format("maybach"), False),
    ],
)
def test_a_title_that_comes_with_the_last_step_shows_the_end(tmp_path: Path, last: str, is_evidence: bool) -> None:
    text = run(tmp_path, titled(form(), last), bar="Form")
    assert ("window:" in text.partition("Store")[2]) is is_evidence, text


def test_a_press_without_any_effect_is_still_left_to_the_model(tmp_path: Path) -> None:
    unchanged, changed = (
        run(tmp_path / name, titled(form(), title), bar="Form", answer="")
        for name, title in (("unchanged", RECORD.format("maybach")), ("changed", LIST))
    )
    assert "ask_model" in unchanged, unchanged
    assert "ask_model" not in changed, changed


@pytest.mark.parametrize(
    ("message", "required"),
    [
        ("Saved '/home/ann/library.bib'.", "Saved '*library.bib'."),
        ("Saved '/home/ann/libr", "Saved '*"),
        ("/home/ann/libr", "*libr"),
        ("Saved /work/{clerk}/libr", "Saved *{clerk}*libr"),
        ("Saved /home/{clerk}", "Saved *{clerk}"),
        ("Saved in room /4", "Saved in room *4"),
        ("Saved and/or stored", "Saved and/or stored"),
    ],
)
def test_the_folder_of_a_file_in_a_message_is_not_required(message: str, required: str) -> None:
    shown = Picture("", Box.whole(SIZE), SIZE, windows=(LIST,)), Sight((), SIZE)
    assert with_titles([message], shown, shown, {}, []) == [required]


def test_a_title_that_ocr_missed_on_the_earlier_picture_shows_no_effect() -> None:
    picture = Picture("", Box.whole(SIZE), SIZE, windows=(LIST,))
    now = picture, Sight((Line(LIST, Box(0, 0, 90, 20)),), SIZE)
    assert with_titles([LIST, "Stored"], now, (picture, Sight((), SIZE)), {}, []) == ["Stored"]


@pytest.mark.parametrize(
    ("earlier", "stays"),
    [("Inbox 8 - Mail", True), ("Outbox - Mail", False)],  # the title without its number is the same as before
)
def test_a_text_stays_if_the_title_does_not_distinguish_two_screens(earlier: str, stays: bool) -> None:
    now, then = (
        (Picture(title, Box.whole(SIZE), SIZE, windows=(title,)), Sight((Line(title, Box(0, 0, 90, 20)),), SIZE))
        for title in ("Inbox 9 - Mail", earlier)
    )
    found = with_titles(["Inbox 9 - Mail"], now, then, {}, [])
    assert found == ["Inbox 9 - Mail" if stays else {"window": "Inbox * - Mail"}]


@pytest.mark.parametrize(
    ("title", "pattern"),
    [
        ("127.0.0.1:47305 says", "127.0.0.1:* says"),
        ("An embedded page at localhost:8000 says", "An embedded page at localhost:* says"),
        ("shop.example.com:8443 says", "shop.example.com:* says"),
        ("shop.example.com says", "shop.example.com says"),
        ("Meeting at 12:30", "Meeting at 12:30"),
        ("Order 12: 30 pieces", "Order 12: 30 pieces"),
        ("Slot of 30.11.2026:12", "Slot of 30.11.2026:12"),
    ],
)
def test_title_of_a_dialog_has_no_port(title: str, pattern: str) -> None:
    assert title_of_item(title, {}) == pattern


@pytest.mark.parametrize(
    ("title", "pattern"),
    [
        ("*notes.ctd - /home/ann/work - CherryTree 0.99.48", "*notes.ctd - * - CherryTree 0.99.48"),
        ("/home/ann/books/all.bib - library 5", "*all.bib - library 5"),
        ("/home/ann/books - library 5.2", "*books - library 5.2"),  # the last word may be the file
        ("Order {order}/2026", "Order {order}/2026"),
        ("Read and/or write", "Read and/or write"),
        ("/work/{order}/scan.pdf - Viewer", "*{order}*scan.pdf - Viewer"),  # another item's scan has the same name
        ("scan.pdf - /work/{order}/in - Viewer", "scan.pdf - *{order}* - Viewer"),
    ],
)
def test_container_of_a_target_has_no_folder(title: str, pattern: str) -> None:
    assert title_of_item(title, {}) == pattern
