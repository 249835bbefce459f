"""Typing, clicks and drags on a page in Chromium. All tests share one browser."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.input.gestures import Click, Drag, Scroll, Write
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.input.pointer import BUSY
from tests.desktop.conftest import shows_texts, until
from tests.desktop.input.test_typing import CASES
from tests.desktop.test_direct import permitted
from tests.desktop.test_glances import decided
from tests.support.long import few

LONGEST_MS = 500
"""Chromium counts two presses within this time as a double click."""


@pytest.fixture(autouse=True)
def anew(browser: Any) -> None:
    """Discard the page's earlier reports, because other tests use the same actions."""
    browser.told.forget()


SOON = [(case, "input") for case in CASES] + [("unicode", "area"), ("empty", "area")]
"""Typing into the text area uses the same code, so most of its cases run in `make test-long` only."""
ALL = SOON + [(case, "area") for case in CASES if (case, "area") not in SOON]


@pytest.mark.parametrize(("case", "field"), few(ALL, len(SOON)))
async def test_chromium_gets_every_character_in_place_of_the_old_text(browser, case, field):
    await browser.desktop.do(Click(at_page(field)))
    await browser.desktop.do(Write("left over", overwrite=True))
    await browser.desktop.do(Write(CASES[case], overwrite=True))
    assert await browser.told.becomes(field, CASES[case]) == CASES[case]


async def test_lines_arrive_in_a_textarea_and_are_replaced(browser):
    await browser.desktop.do(Click(at_page("area")))
    await browser.desktop.do(Write("first\r\nsecond\nthird", overwrite=True))
    assert await browser.told.becomes("area", "first\nsecond\nthird") == "first\nsecond\nthird"
    await browser.desktop.do(Write("only", overwrite=True))
    assert await browser.told.becomes("area", "only") == "only"


async def test_a_drag_drops_in_a_browser(browser):
    """Also if the page is busy with the press while the browser itself answers pings, as on a loaded machine."""
    await browser.desktop.do(Drag(Point(60, 18 + 350), Point(520, 18 + 400)))
    assert await browser.told.becomes("dropped", "carried") == "carried"


async def test_scrolling_down_and_right_shows_what_is_below_and_to_the_right(browser, until):
    spot = Point(800, 600)
    await browser.desktop.do(Scroll(spot, "down", 3))
    assert await until(lambda: browser.told.state["down"] > 0)
    await browser.desktop.do(Scroll(spot, "right", 3))
    assert await until(lambda: browser.told.state["right"] > 0)
    await browser.desktop.do(Scroll(spot, "up", 10))
    await browser.desktop.do(Scroll(spot, "left", 10))
    assert await until(lambda: (browser.told.state["down"], browser.told.state["right"]) == (0, 0))


async def test_a_double_click_selects_a_word_in_a_browser(browser: Any) -> None:
    text = "first second third"
    await browser.desktop.do(Click(Point(100, 50)))
    await browser.desktop.do(Write(text, overwrite=True))
    assert await browser.told.becomes("input", text) == text
    # A gesture decided before the text was drawn would be refused, because the screen has changed.
    await shows_texts(browser, len(text), len(browser.told.state["area"]))
    await double_clicked(browser, Point(75, 50))
    await browser.desktop.do(Write("X"))
    assert await browser.told.becomes("input", "first X third") == "first X third"


async def double_clicked(browser: Any, at: Point) -> None:
    """Double-click until a busy browser receives both presses within its double-click time."""
    for _ in range(10):
        before = len(browser.told.state["presses"])
        receipt = await decided(browser.desktop, Click(at, count=2))
        made = 1 if receipt.left_out == BUSY.format(1, 2) else 2
        if made == 2:
            assert receipt.left_out == ""
        assert await until(lambda: len(browser.told.state["presses"]) == before + made)  # noqa: B023
        if made == 2:
            first, second = browser.told.state["presses"][-2:]
            if second - first < LONGEST_MS:
                return
    pytest.fail("No two presses reached the browser within the time that makes them a double click.")


async def test_a_drag_with_a_frame_check_drops_in_a_browser(browser: Any) -> None:
    receipt = await decided(browser.desktop, Drag(Point(60, 18 + 350), Point(520, 18 + 400)))
    assert receipt.left_out == ""
    assert await browser.told.becomes("dropped", "carried") == "carried"


async def test_a_browser_accepts_permitted_presses(browser: Any) -> None:
    await permitted(browser.desktop, Click(Point(100, 150)), Point(100, 150))
    await browser.desktop.do(Write("area", overwrite=True))
    assert await browser.told.becomes("area", "area") == "area"
    await permitted(browser.desktop, Click(Point(100, 50)), Point(100, 50))
    await browser.desktop.do(Write("First second third", overwrite=True))
    await permitted(browser.desktop, Click(Point(75, 50), count=2), Point(75, 50))
    await browser.desktop.do(Write("X"))
    assert await browser.told.becomes("input", "First X third") == "First X third"
    await permitted(browser.desktop, Drag(Point(60, 18 + 350), Point(520, 18 + 400)), Point(60, 18 + 350))
    assert await browser.told.becomes("dropped", "carried") == "carried"


def at_page(field: str) -> Point:
    """Return the position of a field on the page, below a frame of 1 pixel and a title of 18."""
    return {"input": Point(60, 48), "area": Point(60, 118)}[field]
