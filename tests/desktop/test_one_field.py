"""Overwriting empties one field and no other: compared in tables and fields of each toolkit."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Click, Hotkey, Write
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import VirtualDesktop, tk_python
from tests.accessibility.conftest import DEBIAN_PYTHON, has_gtk

pytestmark = pytest.mark.desktop
APPS = Path(__file__).parent.parent / "apps"
PATIENCE_S = 30.0
FIELDS = ("entry", "empty", "area", "rich", "spin", "combo")
FLAGS = (
    "--no-sandbox --test-type --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-position=0,0 --window-size=1000,760"
)
TOLD = ("gtk3", "qt", "cells", "editable", "hidden", "firefox")
"""Toolkits with an accessibility tree. The last four are web pages."""
UNTOLD = ("tk", "spinner", "swing", "bare")
"""Toolkits without an accessibility tree; the last one is a page."""
PAGES = (*TOLD[2:], "bare")


class Program:
    """A program on a desktop, and the file with its reported contents."""

    def __init__(self, toolkit: str, desktop: VirtualDesktop, state: Path) -> None:
        self.toolkit = toolkit
        self.desktop = desktop
        self._state = state

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._state.read_text()) if self._state.exists() else {}
        return found

    def at(self, name: str) -> Point:
        return Point(*self.read()["at"][name])

    async def rests(self) -> dict[str, Any]:
        """Return its contents once it has reported the same twice."""
        before: Any = None
        told = self._state.stat().st_mtime_ns
        until = time.monotonic() + PATIENCE_S
        while (now := self.read()) != before or self._state.stat().st_mtime_ns == told:
            assert time.monotonic() < until
            before = now
            await asyncio.sleep(0.4)
        return now


def command(toolkit: str, state: Path, url: str) -> list[str]:
    match toolkit:
        case "gtk3":
            if not has_gtk("3.0"):
                pytest.skip("needs the Debian packages python3-gi and gir1.2-gtk-3.0")
            return [DEBIAN_PYTHON, str(APPS / "one_field_gtk3.py"), str(state)]
        case "qt":
            pytest.importorskip("PySide6", reason="needs the package PySide6, a test dependency")
            return [sys.executable, str(APPS / "one_field_qt.py"), str(state)]
        case "tk" | "spinner":
            return [tk_python(), str(APPS / "one_field_tk.py"), str(state), *["--spinner"] * (toolkit == "spinner")]
        case "swing":
            if not shutil.which("java"):
                pytest.skip("needs Java, as of the Debian package default-jdk")
            return ["java", str(APPS / "OneFieldSwing.java"), str(state)]
        case "firefox":
            if not shutil.which("firefox-esr"):
                pytest.skip("needs the Debian package firefox-esr")
            (state.parent / "profile").mkdir()
            return ["firefox-esr", "--no-remote", "--profile", str(state.parent / "profile"), f"{url}#cells"]
        case _:
            tree = "--disable-renderer-accessibility" if toolkit == "bare" else ""
            return shlex.split(f"chromium {FLAGS} {tree} --user-data-dir={state.parent}/profile --app={url}#{toolkit}")


@pytest.fixture(scope="module")
def states() -> Iterator[tuple[str, dict[str, Path]]]:
    """A server of the page. It writes the reports of each page into that page's file."""
    paths: dict[str, Path] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer((APPS / "sheet.html").read_bytes() if self.path == "/" else b"")

        def do_POST(self) -> None:
            said = self.rfile.read(int(self.headers["Content-Length"]))
            path = paths[self.path[1:]]
            fresh = path.with_suffix(".new")
            fresh.write_bytes(said)
            fresh.replace(path)
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", paths
    server.shutdown()
    server.server_close()


@contextmanager
def started(toolkit: str, states: Any, tmp_path_factory: Any) -> Iterator[Program]:
    url, paths = states
    folder = tmp_path_factory.mktemp(toolkit)
    paths["cells" if toolkit == "firefox" else toolkit] = folder / "state"
    options: Any = {"env": {"HOME": str(folder)}, "app_timeout_s": 60, "size": Size(1024, 768)}
    desktop = asyncio.run(VirtualDesktop.start(app=command(toolkit, folder / "state", url), **options))
    shown = Program(toolkit, desktop, folder / "state")
    until = time.monotonic() + PATIENCE_S
    while not shown.read():
        assert time.monotonic() < until, "the program tells nothing"
        time.sleep(0.1)
    yield shown
    asyncio.run(desktop.close())


@pytest.fixture(scope="module", params=(*TOLD, *UNTOLD))
def program(request: pytest.FixtureRequest, states: Any, tmp_path_factory: Any) -> Iterator[Program]:
    with started(request.param, states, tmp_path_factory) as shown:
        yield shown


@pytest.fixture(scope="module")
def holding(states: Any, tmp_path_factory: Any) -> Iterator[Program]:
    """A grid whose keys arrive in an invisible field with the text of the selected cell."""
    with started("holding", states, tmp_path_factory) as shown:
        yield shown


def grid(program: Program) -> dict[tuple[int, int], str]:
    return {(r, c): text for r, row in enumerate(program.read()["cells"]) for c, text in enumerate(row)}


@pytest.mark.parametrize("field", FIELDS)
async def test_a_field_is_replaced_whole_and_nothing_beside_it(program, field):
    if field not in program.read()["at"]:
        pytest.skip("has no such field")
    if (program.toolkit, field) == ("bare", "area"):
        pytest.skip("without a tree, the probe does not see the empty last line of a text")
    before = await program.rests()
    text = "345" if field == "spin" else "new text"
    await program.desktop.do(Write(text, overwrite=True, at=program.at(field)))
    if field == "spin":
        await program.desktop.do(Hotkey(("tab",)))
    after = await program.rests()
    assert after["fields"] == {**before["fields"], field: text}
    assert after["cells"] == before["cells"]
    await program.desktop.do(Write("7", overwrite=True, at=program.at(field)))
    if field == "spin":
        await program.desktop.do(Hotkey(("tab",)))
    assert (await program.rests())["fields"] == {**before["fields"], field: "7"}


async def test_each_text_of_a_narrow_number_field_is_replaced(program):
    """Browsers redraw the rounded corners of the button next to it, with colors that differ by one."""
    if "narrow" not in program.read()["at"]:
        pytest.skip("has no such field")
    for text in ("0", "1", "-2", "5"):
        await program.desktop.do(Write(text, overwrite=True, at=program.at("narrow")))
        assert (await program.rests())["fields"]["narrow"] == text


async def test_all_parts_of_a_date_are_replaced(program):
    if "date" not in program.read()["at"] or program.toolkit == "bare":
        pytest.skip("has no date field with an accessibility tree")
    before = await program.rests()
    for text, date in (("05062021", "2021-05-06"), ("", ""), ("07081999", "1999-07-08")):
        await program.desktop.do(Write(text, overwrite=True, at=program.at("date")))
        assert (await program.rests())["fields"] == {**before["fields"], "date": date}


async def caret_repaints(desktop: VirtualDesktop, field: Point) -> bool:
    """Take a picture, and return whether an area in the row of a field is known to repaint by itself."""
    await desktop.look()
    return any(box.top <= field.y < box.bottom for box in await desktop.repainting_areas())


async def test_a_field_whose_caret_has_blinked_for_a_while_is_replaced(program):
    """The caret of Tk then counts as an area that repaints by itself."""
    at = program.at("entry")
    await program.desktop.do(Write("a text of some length", overwrite=True, at=at))
    until = time.monotonic() + PATIENCE_S
    while program.toolkit == "tk" and not await caret_repaints(program.desktop, at):
        assert time.monotonic() < until
        await asyncio.sleep(0.2)
    await program.desktop.do(Click(Point(at.x - 20, at.y)))
    await program.desktop.do(Write("another", overwrite=True))
    assert (await program.rests())["fields"]["entry"] == "another"


async def test_a_text_is_removed_and_an_empty_field_stays_empty(program):
    for text in ("removed", "", ""):
        await program.desktop.do(Write(text, overwrite=True, at=program.at("entry")))
        assert (await program.rests())["fields"]["entry"] == text


async def test_no_other_cell_of_a_table_changes(program):
    await program.desktop.do(Click(program.at("table")))
    await program.rests()
    before = grid(program)
    try:
        await program.desktop.do(Write("99", overwrite=True, press_enter=True))
        said = ""
    except InvalidUsage as error:
        said = str(error)
    await program.rests()
    changed = {place: text for place, text in grid(program).items() if text != before[place]}
    typed_over = program.toolkit in ("qt", "cells", "firefox")
    assert (changed, bool(said)) == (({(1, 1): "99"}, False) if typed_over else ({}, True)), said


async def test_only_the_cell_that_is_open_for_editing_is_overwritten(program):
    if program.toolkit not in ("gtk3", "qt", "swing"):
        pytest.skip("its cells do not open, or open as they are typed into")
    before, refused = grid(program), False
    await program.desktop.do(Click(program.at("table"), count=2))
    await program.rests()
    try:
        await program.desktop.do(Write("opened", overwrite=True, press_enter=True))
    except InvalidUsage:  # Java does not always report the editor of a cell
        refused = program.toolkit == "swing"
        assert refused
    await program.rests()
    changed = [text for place, text in grid(program).items() if text != before[place]]
    assert changed == ([] if refused else ["opened"])


async def test_overwriting_a_control_without_text_is_refused(program):
    names = [name for name in ("choice", "check", "button") if name in program.read()["at"]]
    if not names or program.toolkit == "bare":
        pytest.skip("has no such controls, or no accessibility tree")
    for name in names:
        if name == "choice" and program.toolkit in ("gtk3", *PAGES):
            continue  # GTK does not report focus on its list; in a browser a click opens the list over the page
        await program.desktop.do(Click(program.at(name)))
        await program.desktop.do(Hotkey(("esc",)))
        before = await program.rests()
        with pytest.raises(InvalidUsage, match="not open for text"):
            await program.desktop.do(Write("99", overwrite=True))
        assert (await program.rests())["fields"] == before["fields"]


async def test_overwriting_while_the_list_of_a_choice_is_open_is_refused(program):
    if program.toolkit not in ("gtk3", "qt"):
        pytest.skip("its list is not reported, or belongs to a page")
    await program.desktop.do(Click(program.at("choice")))
    before = await program.rests()
    with pytest.raises(InvalidUsage, match="not open for text"):
        await program.desktop.do(Write("a b", overwrite=True))
    await program.desktop.do(Hotkey(("esc",)))
    assert (await program.rests())["fields"] == before["fields"]
    await program.desktop.do(Write("after it", overwrite=True, at=program.at("entry")))
    assert (await program.rests())["fields"]["entry"] == "after it"


async def refusal(program: Program, *keys: str) -> tuple[str, list[tuple[int, int]]]:
    """Overwrite a cell after some keys; return the refusal, and the cells that have changed."""
    await program.desktop.do(Click(program.at("table")))
    for key in keys:
        await program.desktop.do(Hotkey((key,)))
    await program.rests()
    before = grid(program)
    with pytest.raises(InvalidUsage) as refused:
        await program.desktop.do(Write("99", overwrite=True, press_enter=True))
    await program.rests()
    return str(refused.value), [place for place, text in grid(program).items() if text != before[place]]


async def test_a_field_beside_a_grid_is_overwritten(holding):
    for text in ("new text", "", "another"):
        await holding.desktop.do(Write(text, overwrite=True, at=holding.at("entry")))
        assert (await holding.rests())["fields"]["entry"] == text


async def test_a_field_that_holds_the_text_of_a_cell_is_not_cleared(holding):
    said, changed = await refusal(holding)
    assert ("have selected cells of a table" in said, changed) == (True, []), said


async def test_cells_that_were_emptied_with_a_field_are_restored_and_the_step_fails(holding):
    said, changed = await refusal(holding, "f8")
    assert ("have emptied cells of a table: " in said, "their texts are back" in said, changed) == (True, True, []), (
        said
    )
    said, changed = await refusal(holding, "f9")
    assert ("did not bring their texts back" in said, len(changed)) == (True, 15), said
