"""Scripts find targets, states and values by the elements that real programs report, and otherwise by text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from legacy_ledger_db import LedgerFile

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.states import Absent, State, Text, Widget
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.script import Script, screens_of
from holo_tasks.vision.ocr_reader import Reader, Reading
from holo_tasks.vision.state_recognizer import ScreenRecognizer
from tests.support.gtk_ledger import CAFE, PASSWORD, PLAYBOOK, Told, gtk_ledger
from tests.support.scripts import done
from tests.support.shots import MemoryModel, as_model, walk_of

pytestmark = pytest.mark.desktop
READ = Script(PLAYBOOK, "read-record", reference=CAFE.reference)
FILE = Script(PLAYBOOK, "file-flag", reference=CAFE.reference, reason="Wrong amount", note="The receipt says 12.60.")


class NoReader(Reader):
    """Reads parts of a screen, and fails on a whole screen."""

    def read(self, picture: Any) -> Reading:
        raise AssertionError("a whole screen was read")


class CountingReader(Reader):
    """Counts readings of whole screens."""

    wholes = 0

    def read(self, picture: Any) -> Reading:
        self.wholes += 1
        return super().read(picture)


BY_TEXT = parse_playbook("""
name: by-text
goals:
  look:
    params: {reference: text}
    rules:
      - id: read
        screen: [TRANSACTION DETAIL, "{reference}"]
        read: {amount: {right_of: Amount, as: money}}
        do: [{answer: {amount: "{amount}"}, thought: Read it.}]
      - id: menu
        screen: MAIN MENU
        do: [{click: {role: button, name: Transaction search}, thought: Open the search., then: TRANSACTION SEARCH}]
      - id: search
        screen: [TRANSACTION SEARCH, Reference]
        max: 2
        do:
          - {click: {field: Reference}, thought: Go to the reference.}
          - {write: {text: "{reference}", overwrite: true}, thought: Write the reference.}
          - {click: {role: button, name: Search}, thought: Search., then: TRANSACTION DETAIL}
      - id: sign-on
        screen: MERIDIAN LEDGER - SIGN ON
        max: 2
        do:
          - {click: {role: text field, name: User}, thought: Go to the user.}
          - {write: {text: auditor, overwrite: true}, thought: Write the user.}
          - {click: {role: password field, name: Password}, thought: Go to the password.}
          - {write: {text: "{{secret:portal_password}}", overwrite: true}, thought: Write the password by its name.}
          - {click: {role: button, name: Log in}, thought: Log in., then: MAIN MENU}
  leave:
    rules:
      - id: leave
        screen: MAIN MENU
        do: [{click: {role: button, name: Exit}, thought: Leave.}, {answer: left, thought: It is left.}]
""")
"""Its conditions and values are texts, as in compiled playbooks."""


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[tuple[VirtualDesktop, LedgerFile]]:
    async with gtk_ledger(tmp_path) as (desktop, file):
        yield desktop, file


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualDesktop]:
    """One ledger for tests that sign on if necessary and look at one record."""
    yield from one_ledger(tmp_path_factory.mktemp("looked-up"))


@pytest.fixture(scope="module")
def signed_off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualDesktop]:
    """One ledger for tests that leave the sign-on screen unchanged."""
    yield from one_ledger(tmp_path_factory.mktemp("signed-off"))


def one_ledger(folder: Path) -> Iterator[VirtualDesktop]:
    """Start one ledger for several tests, each with its own event loop."""
    started = gtk_ledger(folder)
    with asyncio.Runner() as runner:
        desktop, _ = runner.run(started.__aenter__())
        yield desktop
        runner.run(started.__aexit__(None, None, None))


def walk_on(desktop: Any, **options: Any) -> Any:
    return walk_of(as_model(MemoryModel([])), desktop=desktop, **options)


async def test_all_targets_are_found_by_the_tree_without_reading_a_screen(ledger) -> None:
    desktop, file = ledger
    told, screens = Told(desktop, lambda tree: tree), screens_of(PLAYBOOK)
    answer = await done(walk_on(told), READ.brain(reader=NoReader()))
    assert '"merchant": "Café Nord"' in answer  # the program's spelling, not OCR's
    assert '"amount": "1284.50"' in answer
    assert '"flags": 0' in answer
    walk = walk_on(told)
    assert await done(walk, FILE.brain(reader=NoReader())) == '{"flag": 1001}'
    assert [(flag.reference, flag.reason) for flag in file.flags()] == [(CAFE.reference, "Wrong amount")]
    assert told.asked > 8
    recognizer = ScreenRecognizer(NoReader(), elements=told.elements)
    assert walk.seen is not None
    assert await recognizer.recognize(walk.seen.frame, screens.states) is screens.state("saved")
    assert PASSWORD not in repr(told.last)


async def test_texts_are_read_only_where_the_program_reports_them(looked_up: VirtualDesktop) -> None:
    desktop = looked_up
    reader, walk = CountingReader(), walk_on(desktop)
    answer = await done(walk, Script(BY_TEXT, "look", reference=CAFE.reference).brain(reader=reader))
    assert answer == '{"amount": "1284.50"}'
    # A text that appears during the search may be read; without the tree all nine screens would be.
    assert reader.wholes < walk.step / 2


async def test_a_masked_or_protected_value_is_not_read(looked_up: VirtualDesktop) -> None:
    desktop = looked_up
    assert await done(walk_on(desktop), READ.brain())
    (amount,) = (await desktop.elements()).find("label", "1,284.50")
    covered = Painter([FixedRegions([Mask("region", amount.box)])])
    with pytest.raises(GaveUp) as error:
        await done(walk_on(desktop, redactor=covered), Script(reading_the_amount).brain())
    assert "284" not in str(error.value)
    assert await done(walk_on(desktop), Script(reading_the_amount).brain()) == "1284.50"

    def wrong(tree: ElementTree) -> ElementTree:
        more = (replace(e, name="9,284.50") if e.id == amount.id else e for e in tree.elements)
        return replace(tree, elements=tuple(more))

    with pytest.raises(GaveUp, match="another text"):
        await done(walk_on(Told(desktop, wrong)), Script(reading_the_amount).brain())


async def test_a_reported_text_that_is_not_visible_does_not_count(signed_off: VirtualDesktop) -> None:
    desktop = signed_off
    lying = Told(desktop, lambda tree: replace(tree, elements=tuple(map(as_menu, tree.elements))))
    with pytest.raises(GaveUp, match="no rule of goal 'leave' for this screen"):
        await done(walk_on(lying, now_s=Fast()), Script(BY_TEXT, "leave").brain())
    assert (await desktop.elements()).find("label", "MERIDIAN LEDGER - SIGN ON"), "the sign-on screen must still show"


async def test_without_the_tree_no_element_is_found_or_clicked(signed_off: VirtualDesktop) -> None:
    desktop = signed_off
    silent = Told(desktop)
    with pytest.raises(GaveUp, match="No program on this screen reports its elements"):
        await done(walk_on(silent, now_s=Fast()), Script(signing_on).brain())
    frame = await desktop.look()
    screens = screens_of(PLAYBOOK)
    assert await ScreenRecognizer(elements=silent.elements).recognize(frame, screens.states) is None
    state = State("sign-on", Widget("label", "MERIDIAN LEDGER - SIGN ON", text="MERIDIAN LEDGER - SIGN ON"))
    assert await ScreenRecognizer(elements=silent.elements).holds(frame, state), "its text tells it"
    gone = State("menu", Absent(Widget("label", "MAIN MENU")))
    assert not await ScreenRecognizer(elements=silent.elements).holds(frame, gone), "nobody can say"
    assert await ScreenRecognizer(elements=desktop.elements).holds(frame, gone)


async def test_if_tree_and_picture_disagree_nothing_is_clicked(signed_off: VirtualDesktop) -> None:
    desktop = signed_off

    def swapped(tree: ElementTree) -> ElementTree:
        other = {"Log in": "Exit", "Exit": "Log in"}
        return replace(tree, elements=tuple(replace(e, name=other.get(e.name, e.name)) for e in tree.elements))

    def moved(tree: ElementTree) -> ElementTree:
        down = (replace(e, box=e.box.moved(0, 120)) if e.role == "button" else e for e in tree.elements)
        return replace(tree, elements=tuple(down))

    def twice(tree: ElementTree) -> ElementTree:
        same = (replace(e, name="Log in") if e.name == "Exit" else e for e in tree.elements)
        return replace(tree, elements=tuple(same))

    lies = ((swapped, "another text"), (moved, "shows nothing"), (twice, "2 elements are button ‘Log in’"))
    for lie, why in lies:
        with pytest.raises(GaveUp, match=why):
            await done(walk_on(Told(desktop, lie), now_s=Fast()), Script(logging_in).brain())
    renamed = Told(desktop, lambda tree: replace(tree, elements=tuple(map(as_menu, tree.elements))))
    for told, name in ((desktop, "MERIDIAN LEDGER - SIGN ON"), (renamed, "MAIN MENU")):
        state, frame = State("it", Widget("label", name)), await desktop.look()
        assert await ScreenRecognizer(elements=told.elements).holds(frame, state) is (told is desktop)
    assert (await desktop.elements()).find("label", "MERIDIAN LEDGER - SIGN ON"), "the sign-on screen must still show"
    assert (await desktop.elements()).find("label", "M-000 Ready"), "and nothing was refused"


async def test_a_password_is_never_read(signed_off: VirtualDesktop) -> None:
    desktop = signed_off
    with pytest.raises(GaveUp, match=r"No value can be read|the picture shows nothing there"):
        await done(walk_on(desktop), Script(reading_the_password).brain())


async def test_programs_without_a_tree_are_read_by_ocr(tmp_path: Path) -> None:
    app = [tk_python(), "-c", "import tkinter as t; r = t.Tk(); r.geometry('400x200'); "
           "t.Button(r, text='Save flag', command=lambda: l.config(text='Stored it')).pack(pady=30); "
           "l = t.Label(r, text='Waiting for you'); l.pack(); r.mainloop()"]  # fmt: skip
    async with VirtualDesktop(app=app) as desktop:
        tree = await desktop.elements()
        assert not tree.complete
        answer = await done(walk_on(desktop), Script(saving).brain())
        assert answer == "Stored it"
        with pytest.raises(GaveUp, match="No program reports button ‘Save flag’"):
            await done(walk_on(desktop, now_s=Fast()), Script(saving_by_the_tree_only).brain())


class Fast:
    """A clock that advances by half a second at each reading."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.5
        return self.now_s


def as_menu(element: Element) -> Element:
    return replace(element, name="MAIN MENU") if element.name == "MERIDIAN LEDGER - SIGN ON" else element


async def signing_on(hands: Hands) -> None:
    await hands.click(role="text field", name="User")


async def logging_in(hands: Hands) -> None:
    await hands.click(role="button", name="Log in")


async def reading_the_amount(hands: Hands) -> str:
    return str(await hands.read(role="label", right_of="Amount", as_="money"))


async def reading_the_password(hands: Hands) -> str:
    await hands.click(role="password field", name="Password")
    await hands.wait(0.5)
    await hands.write("{{secret:portal_password}}")
    return str(await hands.read(role="password field", name="Password"))


async def saving(hands: Hands) -> str:
    await hands.click("Save flag", role="button", name="Save flag")
    await hands.wait_for(Widget("label", "Stored it", text="Stored it"))
    assert await hands.shows(Text("Stored it"))
    return str(await hands.read(role="label", name="Stored*", line="(Stored.*)"))


async def saving_by_the_tree_only(hands: Hands) -> None:
    await hands.click(role="button", name="Save flag")
