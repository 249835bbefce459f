"""File dialogs of real toolkits with the shipped scripts: the program has the saved and opened files."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from holo_tasks.core.elements.elements import NOWHERE
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.session import child, leftovers
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.file_dialogs import dialog_on, open_in_dialog, save_in_dialog, took
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.script import Script
from holo_tasks.vision.screen_text import Line, Sight
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON, has_gtk
from tests.accessibility.test_programs import FLAGS
from tests.support.element_trees import element, tree_of
from tests.support.long import few
from tests.support.scripts import done
from tests.support.shots import MemoryModel, as_model, walk_of

pytestmark = pytest.mark.desktop
PROGRAMS = {
    "gtk3": [DEBIAN_PYTHON, str(APPS / "dialogs_gtk3.py")],
    "gtk4": [DEBIAN_PYTHON, str(APPS / "dialogs_gtk4.py")],
    "qt": [sys.executable, str(APPS / "dialogs_qt.py")],
}


PAGE = """<!doctype html><meta charset=utf-8><title>Letters</title><body style="font:20px sans-serif;margin:40px">
<p><a href="data:text/plain,Dear%20customer" download="untitled.txt">Store letter</a>
<p><label style="border:1px solid;padding:8px">Load letter<input type=file hidden></label><p id=status>Ready
<script>document.querySelector("input").onchange = async event => {
const [file] = event.target.files; document.title = await file.text();
document.getElementById("status").textContent = `Read ${file.name}: ${document.title}`; }</script>"""


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders for a program and its desktop, with the same paths in each run.

    Dialogs show the paths, so OCR results can be reused if the paths stay the same. One test run at a time uses them;
    another run gets other folders.
    """
    given = getattr(request.node, "callspec", None)
    same = Path(f"/tmp/holo-tests-letters-{given.id if given else request.node.name}"[:40])
    with ExitStack() as ours:
        try:
            # The process that binds this abstract socket owns the folder until it ends. The socket leaves no file.
            ours.enter_context(socket.socket(socket.AF_UNIX)).bind(f"\0{same}")
            shutil.rmtree(same, ignore_errors=True)  # left by a killed run
            same.mkdir(0o755)
        except OSError:
            yield tmp_path
            return
        ours.callback(shutil.rmtree, same)

        def named(prefix: str) -> str:
            made = same / f"{leftovers.PREFIX}{same.name}"  # the desktop's processes are identified by this name
            made.mkdir(0o700)
            return str(made)

        monkeypatch.setattr(child, "tempfile", SimpleNamespace(mkdtemp=named))
        yield same


async def store(hands: Hands, path: str) -> str:
    await hands.click("Store letter")
    await save_in_dialog(hands, path)
    await hands.wait_for("Wrote*")
    return path


async def load(hands: Hands, path: str) -> str:
    await hands.click("Load letter")
    await open_in_dialog(hands, path)
    await hands.wait_for("Read*")
    return path


@asynccontextmanager
async def desktop_of(toolkit: str, home: Path) -> AsyncIterator[VirtualDesktop]:
    """Start the program in an empty folder, so that its dialogs list no unrelated files.

    GTK 4 draws without OpenGL, which would be emulated on the CPU.
    """
    if toolkit == "qt":
        pytest.importorskip("PySide6")
    elif not has_gtk("4.0" if toolkit == "gtk4" else "3.0"):
        pytest.skip(f"needs the Debian packages of {toolkit}")
    home.mkdir()
    app = ["env", "-C", str(home), *PROGRAMS[toolkit]]
    own = {"HOME": str(home), "GSK_RENDERER": "cairo"}
    async with VirtualDesktop(size=Size(1000, 640), app=app, env=own, app_timeout_s=60) as desktop:
        yield desktop


def made_old(folder: Path) -> None:
    """Give files a fixed modification time, because dialogs show it."""
    for file in folder.iterdir():
        os.utime(file, (1_600_000_000, 1_600_000_000))


def walk_on(desktop: VirtualDesktop) -> Walk:
    return walk_of(as_model(MemoryModel([])), desktop=desktop)


@pytest.mark.parametrize("toolkit", few(PROGRAMS))
async def test_a_letter_is_saved_and_another_opened_without_replacing_a_file(toolkit: str, home: Path) -> None:
    async with desktop_of(toolkit, home / "home") as desktop:
        folder = (await desktop.shared_folder()).path
        saved, given = folder / "letter 1.txt", folder / "given.txt"
        given.write_text("Dear Ada")
        (folder / "letter 1.txt.bak").write_text("its name goes on where the other ends")
        for script in (Script(store, path=str(saved)), Script(load, path=str(given))):
            made_old(folder)
            assert await done(walk_on(desktop), script.brain()) in {str(saved), str(given)}
        assert saved.read_text() == "Dear customer"
        made_old(folder)
        with pytest.raises(GaveUp, match="there is a file of that name already"):
            await done(walk_on(desktop), Script(store, path=str(saved)).brain())
        assert saved.read_text() == "Dear customer", "the saved text, not that of the letter opened afterwards"


async def test_chromium_saves_a_download_and_opens_a_file_by_its_dialogs(home: Path) -> None:
    profile = home / "profile" / "Default"
    profile.mkdir(parents=True)
    (profile / "Preferences").write_text(json.dumps({"download": {"prompt_for_download": True}}))
    (home / "page.html").write_text(PAGE)
    words = ["chromium", *shlex.split(FLAGS), f"--user-data-dir={profile.parent}", f"--app=file://{home}/page.html"]

    async def save(hands: Hands, path: str) -> None:
        await hands.click("Store letter", timeout_seconds=60)  # the browser may still be loading the page
        await save_in_dialog(hands, path)

    async with VirtualDesktop(size=Size(1000, 640), app=words, app_timeout_s=60) as desktop:
        folder = (await desktop.shared_folder()).path
        saved, given = folder / "letter 1.txt", folder / "given.txt"
        given.write_text("Dear Ada")
        made_old(folder)
        await done(walk_on(desktop), Script(save, path=str(saved)).brain())
        while not saved.exists():  # the dialog closes before the browser has written the file
            await asyncio.sleep(0.05)
        assert saved.read_text() == "Dear customer"
        made_old(folder)
        assert await done(walk_on(desktop), Script(load, path=str(given)).brain()) == str(given)


@pytest.mark.parametrize(
    "path",
    ["letter.txt", "/tmp/../etc/x", "/tmp/", "/tmp/a\nb", "/tmp/a\u202eb", f"/tmp/{'a' * 256}", "/" + "a/" * 2100],
)
async def test_a_path_that_a_dialog_would_interpret_differently_is_refused(path: str) -> None:
    for script in (save_in_dialog, open_in_dialog):
        with pytest.raises(InvalidUsage):
            await script(None, path)  # type: ignore[arg-type]  # refused before any action of the hands


@pytest.mark.parametrize(
    ("shown", "taken"),
    [
        ("/srv/in/letter 1.txt", True),
        ("...esktop-7/in/letter 1.txt", True),
        ("/srv/in/letter 1.txt.bak", False),
        ("/srv/in/letter 2.txt", False),
    ],
)
def test_a_field_that_shows_another_path_did_not_accept_it(shown: str, *, taken: bool) -> None:
    sight = Sight((Line(shown, Box(20, 20, 400, 20)),), Size(1000, 640))
    assert took(sight, "/srv/in/letter 1.txt" if "esktop" not in shown else "/tmp/desktop-7/in/letter 1.txt") is taken


@pytest.mark.parametrize(
    ("shown", "told", "toolkit"),
    [
        (("+ Other Loc...", "Cancel"), (), "GTK"),
        (("+ other Lc...", "Cancel"), (), ""),
        (("+ other Lc...", "Cancel"), ("Home", "Other Locations"), "GTK"),  # GTK 4 does not report positions
        (("Ready",), ("Cancel", "Other Locations"), ""),  # no part of the dialog is visible
    ],
)
def test_a_dialog_is_recognized_by_its_texts_and_elements(
    shown: tuple[str, ...], told: tuple[str, ...], toolkit: str
) -> None:
    lines = tuple(Line(text, Box(20, 40 * place, 120, 20)) for place, text in enumerate(shown))
    tree = tree_of(*(element("label", name, NOWHERE, "visible") for name in told))
    assert dialog_on(Sight(lines, Size(1000, 640), elements=tree)) == toolkit
