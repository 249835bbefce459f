"""The trees of real programs of GTK 3, Qt, Chromium and Tk, on a real desktop."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from holo_tasks.accessibility.reader import HANGS_S, LONGEST_S
from holo_tasks.core.elements.elements import TOO_LATE, ElementTree
from holo_tasks.core.input.gestures import Click, Hotkey
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.scripts.element_search import FIELDS
from holo_tasks.vision.element_check import PRESSED, WRITTEN_INTO, ElementCheck
from tests.accessibility.conftest import APPS
from tests.support.long import few

pytestmark = pytest.mark.desktop
PATIENCE_S = 60.0
SECRET = "tulip-7-secret"
PAGE = """<!doctype html><meta charset=utf-8><title>Supplier form</title><body style="margin:0">
<label>Name <input value="Ada Supplies"></label><label>Password <input type=password value="tulip-7-secret"></label>
<button onclick="out.textContent = 'Saved.'; this.remove()">Save</button><button>Don't save</button><p id=out>Ready.</p>
<div style="height:100px;overflow:auto"><button style="margin-top:500px">Far down</button></div>
<button style="position:absolute;left:5000px">Far right</button>"""
FLAGS = "--no-sandbox --test-type --disable-gpu --disable-quic --no-first-run --disable-background-networking "
FLAGS += "--disable-component-update --disable-sync --window-size=900,600"


async def until_there(desktop: VirtualDesktop, role: str | None, name: str | None) -> ElementTree:
    """Wait until a program reports an element; its window may appear earlier."""
    end = time.monotonic() + PATIENCE_S
    while not (tree := await desktop.elements()).find(role, name):
        assert time.monotonic() < end, (tree.why_not, tree.applications, [e.name for e in tree.elements])
        await asyncio.sleep(0.05)
    return tree


async def none_is_refused(desktop: VirtualDesktop) -> None:
    """Check that each named control agrees with the picture at its box."""
    await until_there(desktop, None, "Save")
    await desktop.look()
    tree = await desktop.elements()
    frame, check = await desktop.look(), ElementCheck()
    controls = [each for each in tree.elements if each.on_screen and each.role in PRESSED | WRITTEN_INTO | FIELDS]
    refused = {
        (each.role, each.name, str(each.box)): why
        for each in controls
        if each.name and (why := check.contradiction(frame, tree, each))
    }
    assert not refused
    assert {each.name for each in controls} >= {"Save", "Name"}


def ink(frame, box: Box) -> int:
    """Count the colors in a box: a drawn cell has a border and a text."""
    part = frame.crop(box).rgb
    return len({part[place : place + 3] for place in range(0, len(part), 3)})


async def test_a_stopped_program_costs_one_wait_and_is_read_again_when_it_goes_on(form) -> None:
    async with VirtualDesktop(app=form("gtk3"), app_timeout_s=60) as desktop:
        (pid,) = {window.pid for window in await desktop.windows()}
        os.kill(pid, signal.SIGSTOP)
        try:
            first, second = await desktop.elements(), await desktop.elements()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert HANGS_S <= first.took_ms / 1000 < LONGEST_S
        assert second.took_ms / 1000 < HANGS_S
        assert TOO_LATE in second.why_not
        await until_there(desktop, "button", "Save")


async def test_rows_of_a_gtk_3_list_have_their_drawn_positions() -> None:
    """A cell with an icon and a text, below headers that are not cells; and a row that is scrolled into view."""
    async with VirtualDesktop(app=["/usr/bin/python3", str(APPS / "list_gtk3.py")], app_timeout_s=60) as desktop:
        tree = await until_there(desktop, "cell", "invoice-03.txt")
        assert not tree.find("cell", "invoice-90.txt", hidden=True), "rows scrolled out of sight are excluded"
        (third,) = tree.find("cell", "invoice-03.txt")
        assert [each.name for each in tree.find("cell", "3 bytes")] == ["3 bytes"]
        assert ink(await desktop.look(), third.box) > 2
        await desktop.do(Click(third.box.center))
        await desktop.look(after_action=True)
        tree = await until_there(desktop, "label", "invoice-03.txt is chosen.")


async def check_form(desktop: VirtualDesktop, file: Path) -> ElementTree:
    """Check that the form reports its elements, at their drawn positions, without the password."""
    tree = await until_there(desktop, "button", "Save")
    assert tree.complete, tree.why_not
    (name,) = tree.find("text field", "Name")
    assert name.value == "Ada Supplies"
    (password,) = tree.find("password field", "Password")
    assert password.protected
    assert SECRET not in repr(tree)
    assert [app.pid for app in tree.applications] == [name.pid]
    assert "editable" in name.states
    frame = await desktop.look()
    (save,) = tree.find("button", "Save")
    assert ink(frame, save.box) > 2
    assert tree.at(save.box.center) in (save, *tree.below(save))
    (check,) = tree.find("check box", "Urgent")
    assert "checked" not in check.states
    await desktop.do(Click(check.box.center))
    await desktop.do(Click(save.box.center))
    await desktop.look(after_action=True)
    tree = await until_there(desktop, "label", "Saved.")
    assert file.read_text() == "saved Ada Supplies\n"
    assert "checked" in tree.find("check box", "Urgent")[0].states
    return tree


async def test_gtk_3_returns_the_whole_tree_in_one_call(form, tmp_path) -> None:
    async with VirtualDesktop(app=form("gtk3", tmp_path / "done", 20)) as desktop:
        await none_is_refused(desktop)
        tree = await check_form(desktop, tmp_path / "done")
        (told,) = tree.applications
        assert told.how == "cache"
        assert told.toolkit.startswith("gtk 3")
        row = tree.find("button", "Row *")
        assert 2 <= len(row) < 8, "rows scrolled out of sight are excluded"
        (pane,) = (each for each in tree.ancestors(row[-1]) if each.role == "scroll pane")
        assert all(pane.box.encloses(each.box) for each in row)
        assert len(tree.find("button", "Row *", hidden=True)) == 20
        entries = [(each.name, each.shortcut) for each in tree.find("menu item", hidden=True)]
        assert entries == [("New supplier", "Ctrl+N"), ("Quit", "")]
        assert tree.find("menu item") == []
        (menu,) = tree.find("menu", "File")
        await desktop.do(Click(menu.box.center))
        await desktop.look(after_action=True)
        tree = await until_there(desktop, "menu item", "Quit")
        (entry,) = tree.find("menu item", "New supplier")
        await desktop.do(Click(entry.box.center))
        await desktop.look(after_action=True)
        assert (tmp_path / "done").read_text().endswith("menu New supplier\n")


async def test_boxes_are_screen_pixels_at_gtk_scale_2(form, tmp_path) -> None:
    async with VirtualDesktop(app=form("gtk3", tmp_path / "done"), env={"GDK_SCALE": "2"}) as desktop:
        tree = await check_form(desktop, tmp_path / "done")
        (window,) = tree.find("window", "Supplier form")
        assert window.box.width > 900
        assert tree.applications[0].scale == 2.0


async def test_gtk_4_reports_boxes_in_its_window_its_popups_and_its_dialogs(form, tmp_path) -> None:
    file = tmp_path / "done"
    async with VirtualDesktop(app=form("gtk4", file), app_timeout_s=60) as desktop:
        tree = await check_form(desktop, file)
        assert tree.applications[0].toolkit.startswith("GTK 4")
        for opens, role, chosen, does in (
            (("button", "More"), "menu item", "New supplier", "menu New supplier\n"),
            (("combo box", None), "label", "Weekly", "chose Weekly\n"),
        ):
            assert (await desktop.elements()).find(role, chosen) == [], "the menu is closed"
            tree = await until_there(desktop, *opens)
            await desktop.do(Click(tree.find(*opens)[-1].box.center))
            await desktop.look(after_action=True)
            (entry,) = (tree := await until_there(desktop, role, chosen)).find(role, chosen)
            frame = await desktop.look()
            assert not ElementCheck().contradiction(frame, tree, entry)
            await desktop.do(Click(entry.box.center))
            await desktop.look(after_action=True)
            assert file.read_text().endswith(does)
        await desktop.do(Hotkey(("f8",)))
        await desktop.look(after_action=True)
        tree = await until_there(desktop, "button", "Remove")
        assert tree.find("button", "Don't save") == [], "the dialog is in front of it"
        await desktop.do(Click(tree.find("button", "Remove")[0].box.center))
        await desktop.look(after_action=True)
        assert file.read_text().endswith("removed\n")
        assert (await until_there(desktop, "button", "Don't save")).find("button", "Remove") == []


async def test_a_qt_tree_is_read_element_by_element(form, tmp_path) -> None:
    pytest.importorskip("PySide6")
    async with VirtualDesktop(app=form("qt", tmp_path / "done"), app_timeout_s=60) as desktop:
        await none_is_refused(desktop)
        tree = await check_form(desktop, tmp_path / "done")
        assert tree.applications[0].how == "walk"
        assert [each.name for each in tree.find("cell", "INV-*")] == [f"INV-{row}" for row in range(5)]
        (entry,) = tree.find("menu item", "New supplier", hidden=True)
        assert entry.shortcut == "Ctrl+N"


async def test_boxes_are_screen_pixels_at_qt_scale_1_5(form, tmp_path) -> None:
    pytest.importorskip("PySide6")
    scaled = {"QT_SCALE_FACTOR": "1.5"}
    async with VirtualDesktop(app=form("qt", tmp_path / "done"), env=scaled, app_timeout_s=60) as desktop:
        tree = await check_form(desktop, tmp_path / "done")
        (window,) = tree.find("window", "Supplier form")
        assert window.box.width > 700
        assert tree.applications[0].scale == 1.5


@pytest.mark.parametrize("scale", few([1.25, 1]))
async def test_chromium_reports_the_elements_of_its_page(tmp_path, scale) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    app = f"chromium {FLAGS} --force-device-scale-factor={scale} --user-data-dir={tmp_path}/profile --app=file://{page}"
    async with VirtualDesktop(app=app, env={"HOME": str(tmp_path)}, app_timeout_s=60) as desktop:
        tree = await until_there(desktop, "button", "Save")
        assert tree.applications[0].how == "cache"
        assert tree.find("text field", "Name")[0].value == "Ada Supplies"
        assert tree.find("password field", "Password")[0].protected
        assert SECRET not in repr(tree)
        assert tree.find("button", "Far *") == []
        assert len(tree.find("button", "Far *", hidden=True)) == 2
        await desktop.do(Click(tree.find("button", "Save")[0].box.center))
        await desktop.look(after_action=True)
        await until_there(desktop, None, "Saved.")
        assert (await desktop.elements()).find("button", "Save") == []


async def test_tk_has_no_tree_and_no_service_is_started_for_it() -> None:
    async with VirtualDesktop(app=[tk_python(), str(APPS / "probe_counter.py")]) as desktop:
        tree = await desktop.elements()
        assert tree.elements == ()
        assert not tree.complete
        assert tree.why_not.startswith("No program on this screen reports")
        (told,) = tree.applications
        assert told.how == "none"
        assert "Tk" in told.note
        marked = desktop.authority.parent.name.encode()
        running = [path for path in Path("/proc").glob("[0-9]*/environ") if _reads(path, marked)]
        started = [(path.parent / "cmdline").read_bytes() for path in running]
        assert not any(b"at-spi" in line for line in started)


def _reads(path: Path, wanted: bytes) -> bool:
    try:
        return wanted in path.read_bytes()
    except OSError:
        return False
