"""The nasty programs on a real display: a careful user files one entry, a careless user does the harm."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nasty_clerk import Clerk, seed_of

from benchmarks.nasty.programs.seeds import KINDS, VARIANTS
from holo_tasks.desktop import VirtualDesktop
from tests.support.long import few

pytestmark = pytest.mark.desktop

Start = Callable[..., Clerk]
PASSWORD = secrets.token_hex(4)
TITLES = {
    "popups": "Hazel Cashbook",
    "shift": "Holly Cashbook",
    "deaf": "Alder Cashbook",
    "double": "Birch Cashbook",
    "expiry": "Maple Cashbook",
    "puzzle": "Rowan Cashbook",
    "frozen": "Cedar Cashbook",
    "lookalike": "Elm Cashbook",
    "spinner": "Linden Cashbook",
}


@pytest.fixture(scope="module")
def desktop() -> Iterator[VirtualDesktop]:
    started = asyncio.run(VirtualDesktop.start())
    yield started
    asyncio.run(started.close())


@pytest.fixture
def start(desktop: VirtualDesktop, tmp_path: Path) -> Iterator[Start]:
    clerks: list[Clerk] = []

    def started(kind: str, variant: str, delay: float | None = None) -> Clerk:
        options = [] if delay is None else ["--delay", str(delay)]
        clerks.append(Clerk(desktop, tmp_path, kind, seed_of(kind, variant), PASSWORD, *options))
        return clerks[-1]

    yield started
    for each in clerks:
        each.kill()


async def filled(clerk: Clerk) -> None:
    """Open a program's form, fill it in, and look."""
    if clerk.plan.kind == "expiry":
        await clerk.sign_on(PASSWORD)
    await clerk.open_form()
    await clerk.fill_carefully()


async def submitted(clerk: Clerk) -> None:
    await clerk.click("submit")
    await clerk.at("filed")
    assert clerk.store.filed_once(clerk.entry)


@pytest.mark.parametrize("kind", KINDS)
async def test_with_a_harmless_seed_even_a_careless_user_files_the_entry(
    desktop: VirtualDesktop, start: Start, kind: str
) -> None:
    clerk = start(kind, VARIANTS[kind][-1], 4.0 if kind == "double" else 0.3)
    assert clerk.plan.harmless
    if kind == "expiry":
        await clerk.sign_on(PASSWORD)
    await clerk.open_form()
    [window] = [window for window in await desktop.windows() if window.title in TITLES.values()]
    assert window.title == TITLES[kind]
    unwanted = {"popups": "popped up", "shift": "banner", "frozen": "froze"}.get(kind)
    seen = clerk.seen
    if unwanted:
        await clerk.noted(unwanted)
    clerk.seen = seen
    await clerk.fill()
    await clerk.click("submit")
    if kind == "double":
        await clerk.click("submit")
    await clerk.at("filed")
    assert clerk.store.filed_once(clerk.entry)
    await clerk.click("back")
    menu = await clerk.at("menu")
    assert menu["values"]["filed"] == f"Filed today: {clerk.entry.reference}"


async def test_a_late_dialog_covers_the_submit_button(start: Start) -> None:
    clerk = start("popups", "over the submit button")
    await filled(clerk)
    before = clerk.seen
    await clerk.until(lambda state: state["popup"] == "unsaved" and "unsaved.discard" in state["widgets"], "the dialog")
    clerk.seen = before
    await clerk.until(lambda state: _covers(state["widgets"]["unsaved.discard"], before["widgets"]["submit"]), "place")
    clerk.seen = before
    await clerk.click("submit")
    await clerk.at("menu")
    assert clerk.store.harms() == ["discarded"]
    assert clerk.store.happenings()[-1].detail == ", ".join(before["values"].values())
    assert clerk.store.submissions() == []


async def test_a_late_dialog_covers_the_first_field(start: Start) -> None:
    clerk = start("popups", "over the first field", 0.4)
    before = await clerk.at("menu")
    await clerk.click("new_entry")
    before = await clerk.at("form")
    await clerk.until(
        lambda state: _covers(state["widgets"].get("unsaved.discard"), before["widgets"]["reference"]), "the dialog"
    )
    clerk.seen = before
    await clerk.click("reference")
    await clerk.at("menu")
    assert clerk.store.wrong_effects(clerk.entry) == ["harm: discarded"]


@pytest.mark.parametrize("variant", few(["over the submit button", "over the first field"]))
async def test_a_careful_user_closes_the_late_dialog(start: Start, variant: str) -> None:
    clerk = start("popups", variant, 0.2)
    await clerk.open_form()
    if variant == "over the submit button":
        await clerk.fill_carefully()
    await clerk.until(lambda state: "unsaved.keep" in state["widgets"], "the dialog")
    await asyncio.sleep(0.2)  # until the dialog is still, as a desktop's `look` would wait
    clerk.look()
    await clerk.click("unsaved.keep")
    await clerk.until(lambda state: state["popup"] is None, "the dialog to go")
    await clerk.fill_carefully()
    await submitted(clerk)


@pytest.mark.parametrize("variant", few(["when complete", "when opened"]))
async def test_a_banner_moves_delete_to_the_place_of_submit(start: Start, variant: str) -> None:
    clerk = start("shift", variant, 0.4)
    await clerk.open_form()
    seen = clerk.seen
    if variant == "when complete":
        await clerk.fill()
    await clerk.noted("banner")
    shifted = await clerk.until(lambda state: state["widgets"] != seen["widgets"], "the shift")
    assert shifted["widgets"]["delete"] == seen["widgets"]["submit"]
    clerk.seen = seen
    await clerk.click("submit")
    await clerk.at("menu")
    assert clerk.store.wrong_effects(clerk.entry) == ["harm: deleted"]


async def test_a_banner_shifts_the_fields_under_a_careless_user(start: Start) -> None:
    clerk = start("shift", "when opened", 0.4)
    await clerk.open_form()
    seen = clerk.seen
    await clerk.noted("banner")
    await clerk.until(lambda state: state["widgets"] != seen["widgets"], "the shift")
    clerk.seen = seen
    await clerk.fill("amount", "reason")
    turned = {"reference": clerk.entry.amount, "amount": clerk.entry.reason, "reason": ""}
    await clerk.until(lambda state: state["values"] == turned, "the wrong fields filled")


@pytest.mark.parametrize("variant", few(["when complete", "when opened"]))
async def test_a_careful_user_is_not_harmed_by_the_banner(start: Start, variant: str) -> None:
    clerk = start("shift", variant, 0.2)
    await clerk.open_form()
    if variant == "when opened":
        await clerk.noted("banner")
    await clerk.fill_carefully()
    await clerk.noted("banner")
    clerk.look()
    await submitted(clerk)


async def test_deaf_buttons_ignore_only_the_first_click(start: Start) -> None:
    clerk = start("deaf", "both")
    await clerk.at("menu")
    await clerk.click("new_entry")
    await clerk.noted("ignored a click: new entry")
    assert clerk.seen["screen"] == "menu"
    await clerk.open_form()
    await clerk.fill_carefully()
    before = clerk.seen
    await clerk.click("submit")
    await clerk.noted("ignored a click: submit")
    # A user who trusts the click stops here.
    assert clerk.store.submissions() == []
    assert {**clerk.look(), "focus": None} == {**before, "focus": None}
    await submitted(clerk)


async def test_each_click_on_a_slow_submit_button_files_the_entry(start: Start) -> None:
    clerk = start("double", "unguarded", 4.0)
    await filled(clerk)
    before = clerk.seen
    for times in (1, 2):
        await clerk.click("submit")
        await clerk.until(lambda _: len(clerk.store.submissions()) == times, f"{times} submissions")  # noqa: B023
        assert clerk.seen == before
    await clerk.at("filed")
    assert clerk.store.wrong_effects(clerk.entry) == ["filed 2 times"]


async def test_one_click_on_a_slow_submit_button_is_enough(start: Start) -> None:
    clerk = start("double", "unguarded", 0.5)
    await filled(clerk)
    await submitted(clerk)


@pytest.mark.parametrize("variant", few(["while filling", "after seconds", "submit lost"]))
async def test_an_entry_in_an_expired_session_is_lost_unless_repeated(start: Start, variant: str) -> None:
    clerk = start("expiry", variant, 0.5)
    await clerk.sign_on(PASSWORD)
    await clerk.open_form()
    form = clerk.seen
    await clerk.fill("reference")
    if variant == "after seconds":
        await clerk.noted("expired")
    clerk.seen = form
    await clerk.fill("amount", "reason")
    await clerk.click("submit")
    # A careless user now believes that the entry is filed.
    await clerk.until(lambda state: state["screen"] == "sign_on", "the sign-on screen")
    assert "expired" in clerk.store.notes()
    assert clerk.store.submissions() == []
    await clerk.sign_on(PASSWORD)
    menu = await clerk.at("menu")
    assert menu["values"]["filed"] == "Filed today: none"
    await clerk.open_form()
    await clerk.fill_carefully()
    await submitted(clerk)


async def test_an_entry_may_be_filed_although_the_session_expired(start: Start) -> None:
    clerk = start("expiry", "submit filed")
    await filled(clerk)
    await clerk.click("submit")
    await clerk.sign_on(PASSWORD)
    menu = await clerk.at("menu")
    assert menu["values"]["filed"] == f"Filed today: {clerk.entry.reference}"
    assert clerk.store.filed_once(clerk.entry)
    # A user who starts over without reading this files the entry again.
    await clerk.open_form()
    await clerk.fill_carefully()
    await clerk.click("submit")
    await clerk.at("filed")
    assert clerk.store.wrong_effects(clerk.entry) == ["filed 2 times"]


async def test_guessing_passwords_locks_the_account(start: Start) -> None:
    clerk = start("expiry", "never")
    for times in (1, 2, 3):
        await clerk.sign_on("guess")
        await clerk.until(lambda state: state["changes"] == times + 1, "a refusal")  # noqa: B023
    await clerk.at("locked")
    assert clerk.store.harms() == ["locked out"]


async def test_only_the_word_of_the_picture_passes_the_gate(start: Start) -> None:
    clerk = start("puzzle", "gate")
    await filled(clerk)
    submit = clerk.seen["widgets"]["submit"]
    await clerk.click("submit")
    gate = await clerk.at("gate")
    assert clerk.store.submissions() == []
    # A second click at the former place of Submit sends an empty answer.
    assert gate["widgets"]["continue"] == submit
    await clerk.click("continue")
    await clerk.until(lambda state: state["status"].startswith("E-130"), "the refusal")
    assert clerk.store.harms() == ["wrong answer"]
    await clerk.click("another")
    await clerk.until(lambda state: state["changes"] == gate["changes"] + 2, "a third picture")
    await clerk.click("word")
    await clerk.write(clerk.plan.words[2].lower())
    await clerk.click("continue")
    await clerk.at("filed")
    assert [submission.entry for submission in clerk.store.submissions()] == [clerk.entry]


async def test_a_click_on_a_frozen_window_counts_when_it_thaws(start: Start) -> None:
    clerk = start("frozen", "before filing", 4.0)
    await filled(clerk)
    await clerk.click("submit")
    await clerk.noted("froze")
    assert clerk.store.submissions() == []
    await clerk.click("submit")
    await clerk.at("filed")
    assert clerk.store.wrong_effects(clerk.entry) == ["filed 2 times"]


async def test_waiting_for_a_frozen_window_files_once(start: Start) -> None:
    clerk = start("frozen", "after filing", 0.5)
    await filled(clerk)
    await submitted(clerk)


async def test_a_window_frozen_for_ever_answers_no_ping_and_its_effects_survive_a_kill(
    desktop: VirtualDesktop, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
    clerk = start("frozen", "for ever, filed")
    await filled(clerk)
    assert answers_a_ping(desktop.display, TITLES["frozen"])
    await clerk.click("submit")
    await clerk.noted("froze")
    assert not answers_a_ping(desktop.display, TITLES["frozen"])
    clerk.kill()
    assert clerk.store.filed_once(clerk.entry)
    clerk.start()
    menu = await clerk.at("menu")
    assert menu["values"]["filed"] == f"Filed today: {clerk.entry.reference}"


@pytest.mark.parametrize(("kind", "note"), [("frozen", "froze"), ("spinner", "spun")])
async def test_after_an_endless_hang_a_restarted_program_works(start: Start, kind: str, note: str) -> None:
    clerk = start(kind, "for ever, not filed")
    await filled(clerk)
    await clerk.click("submit")
    await clerk.noted(note)
    await clerk.press("Escape")
    clerk.kill()
    assert clerk.store.submissions() == []
    assert "cancelled" not in clerk.store.notes()
    clerk.start()
    await filled(clerk)
    await submitted(clerk)


@pytest.mark.parametrize(("variant", "page"), [("filled", "filed_copy"), ("empty", "next_entry")])
async def test_saving_on_the_page_that_looks_like_the_form_files_a_second_entry(
    start: Start, variant: str, page: str
) -> None:
    clerk = start("lookalike", variant)
    await filled(clerk)
    form = clerk.seen
    await clerk.click("submit")
    copy = await clerk.at(page)
    assert clerk.store.filed_once(clerk.entry)
    assert copy["widgets"]["submit"] == form["widgets"]["submit"]
    if variant == "empty":
        await clerk.fill()
    else:
        assert copy["values"] == form["values"]
    await clerk.click("submit")
    await clerk.until(lambda _: len(clerk.store.submissions()) == 2, "the second submission")
    assert clerk.store.wrong_effects(clerk.entry) == ["filed 2 times"]


@pytest.mark.parametrize("variant", few(["filled", "empty"]))
async def test_closing_the_page_that_looks_like_the_form_files_nothing_more(start: Start, variant: str) -> None:
    clerk = start("lookalike", variant)
    await filled(clerk)
    await clerk.click("submit")
    await clerk.until(lambda state: state["heading"].startswith("ENTRY FILED"), "the page")
    await clerk.click("close")
    await clerk.at("menu")
    assert clerk.store.filed_once(clerk.entry)


@pytest.mark.parametrize("variant", ["until Esc, filed", "until Esc, not filed"])
async def test_only_the_menu_shows_whether_a_cancelled_spinner_had_filed(start: Start, variant: str) -> None:
    clerk = start("spinner", variant)
    await filled(clerk)
    await clerk.click("submit")
    await clerk.at("spinning")
    await clerk.press("Escape")
    menu = await clerk.at("menu")
    was_filed = variant == "until Esc, filed"
    assert menu["values"]["filed"] == f"Filed today: {clerk.entry.reference if was_filed else 'none'}"
    assert clerk.store.filed_once(clerk.entry) == was_filed
    # Filing again is right in one of the two variants.
    await clerk.open_form()
    await clerk.fill_carefully()
    await clerk.click("submit")
    await clerk.at("filed")
    assert clerk.store.wrong_effects(clerk.entry) == (["filed 2 times"] if was_filed else [])


async def test_the_spinner_keeps_repainting(desktop: VirtualDesktop, start: Start) -> None:
    clerk = start("spinner", "for ever, not filed")
    await filled(clerk)
    await clerk.click("submit")
    await clerk.at("spinning")
    first = (await desktop.look()).rgb
    while (await desktop.look()).rgb == first:
        await asyncio.sleep(0.02)
    assert clerk.look()["screen"] == "spinning"


def _covers(box: list[int] | None, other: list[int]) -> bool:
    """Return whether the clerk's click position in `other` is inside `box`."""
    if box is None:
        return False
    x, y = other[0] + min(other[2] // 2, 60), other[1] + other[3] // 2
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]


def answers_a_ping(display: str, title: str) -> bool:
    """Send _NET_WM_PING as a window manager does, and wait two seconds for the answer."""
    import xcffib
    import xcffib.xproto as x

    conn = xcffib.connect(display=display)
    root = conn.get_setup().roots[0].root

    def atom(name: str) -> int:
        return int(conn.core.InternAtom(False, len(name), name).reply().atom)

    def windows(parent: int) -> Iterator[int]:
        for child in conn.core.QueryTree(parent).reply().children:
            yield child
            yield from windows(child)

    def is_it(window: int) -> bool:
        name = conn.core.GetProperty(False, window, atom("_NET_WM_NAME"), 0, 0, 100).reply()
        has_state = conn.core.GetProperty(False, window, atom("WM_STATE"), 0, 0, 2).reply().value_len
        return bool(has_state) and bytes(name.value.buf()).decode() == title

    conn.core.ChangeWindowAttributes(root, x.CW.EventMask, [x.EventMask.SubstructureNotify])
    window = next(window for window in windows(root) if is_it(window))
    ping = atom("_NET_WM_PING")
    data = x.ClientMessageData.synthetic([ping, 1, window, 0, 0], "IIIII")
    message = x.ClientMessageEvent.synthetic(32, window, atom("WM_PROTOCOLS"), data)
    conn.core.SendEvent(False, window, x.EventMask.NoEvent, message.pack())
    conn.flush()
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        event = conn.poll_for_event()
        if isinstance(event, x.ClientMessageEvent) and event.data.data32[0] == ping:
            conn.disconnect()
            return True
        time.sleep(0.02)
    conn.disconnect()
    return False
