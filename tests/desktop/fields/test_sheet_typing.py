"""A LibreOffice sheet: overwriting changes one cell, and a text arrives as typed. All cells are compared."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from holo_tasks.core.elements.elements import FOCUSED
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Hotkey, Write
from holo_tasks.desktop import VirtualDesktop
from tests.accessibility.test_libreoffice import pytestmark as installed

pytestmark = installed
PATIENCE_S = 120.0
ROWS = 20
Cells = dict[str, Any]


def made() -> openpyxl.Workbook:
    """Return a sheet of 20 rows and 3 columns, with texts that trigger completion, and cells of
    percentages.
    """
    book = openpyxl.Workbook()
    sheet = book.active
    for row in range(1, ROWS + 1):
        sheet.append((f"article {row}", row, row * 2))
    sheet["E1"], sheet["F1"] = "Apple", "12 kg"
    sheet["K1"], sheet["M1"] = "Apple", "Note"
    sheet["G2"].number_format = "0%"
    return book


def read(path: Path) -> Cells:
    book = openpyxl.load_workbook(path)
    return {cell.coordinate: cell.value for row in book.active.iter_rows() for cell in row if cell.value is not None}


class Sheet:
    """An open sheet and its file."""

    def __init__(self, desktop: VirtualDesktop, path: Path) -> None:
        self.desktop = desktop
        self._path = path

    async def go(self, place: str) -> None:
        """Move to a cell by keys until the name box shows it. A busy sheet may lose some keys."""
        column, row = ord(place[0]) - ord("A"), int(place[1:]) - 1
        until = time.monotonic() + PATIENCE_S
        while True:
            await self.press("esc")
            await self.press("ctrl", "home")
            for key, times in (("right", column), ("down", row)):
                if times:
                    await self.desktop.do(Hotkey((key,), times))
            await self.desktop.look()
            if await self.is_at(place):
                return
            assert time.monotonic() < until

    async def is_at(self, place: str) -> bool:
        """Return whether the name box shows a cell within two seconds."""
        for _ in range(10):
            if any(each.value == place for each in (await self.desktop.elements()).elements):
                return True
            await asyncio.sleep(0.2)
        return False

    async def press(self, *keys: str) -> None:
        await self.desktop.do(Hotkey(keys))

    async def write(self, place: str, text: str, **how: bool) -> None:
        await self.go(place)
        await self.desktop.do(Write(text, **{"press_enter": True, **how}))

    async def again(self, text: str, **how: bool) -> None:
        await self.desktop.do(Write(text, **{"press_enter": True, **how}))

    async def saved(self) -> Cells:
        before = self._path.stat().st_mtime_ns
        await self.press("ctrl", "s")
        until = time.monotonic() + PATIENCE_S
        while self._path.stat().st_mtime_ns == before:
            await asyncio.sleep(1)
            await self.press("enter")  # keep the format
            assert time.monotonic() < until
        await asyncio.sleep(1)
        return read(self._path)


async def opened(desktop: VirtualDesktop, role: str) -> None:
    """Wait until an element of this role has the keyboard."""
    until = time.monotonic() + PATIENCE_S
    while not any(each.role == role and FOCUSED in each.states for each in (await desktop.elements()).elements):
        assert time.monotonic() < until
        await asyncio.sleep(0.5)


def office(folder: Path, *arguments: str) -> list[str]:
    return ["libreoffice", f"-env:UserInstallation=file://{folder}/profile", "--nologo", "--norestore", *arguments]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cells, Cells]:
    """Return the contents of the cells before and after `typed`."""
    folder = tmp_path_factory.mktemp("sheet")
    path = folder / "stock.xlsx"
    made().save(path)

    async def work() -> Cells:
        async with VirtualDesktop(app=office(folder, str(path)), app_timeout_s=60) as desktop:
            await opened(desktop, "table")
            sheet = Sheet(desktop, path)
            await typed(sheet)
            return await sheet.saved()

    before = read(path)
    return before, asyncio.run(work())


async def typed(sheet: Sheet) -> None:
    await sheet.write("B2", "99", overwrite=True)
    await sheet.write("A1", "first", overwrite=True)
    await sheet.go("A5")
    await sheet.press("f2")
    await opened(sheet.desktop, "paragraph")
    await sheet.again(" junk", press_enter=False)
    await sheet.again("edited", overwrite=True)
    await sheet.write("C7", "", overwrite=True)
    await sheet.write("E2", "App")
    await sheet.again("IBan")
    await sheet.again("(c) teh, MAny words i typed")
    await sheet.again("App", overwrite=True)
    await sheet.write("F2", "12")
    await sheet.write("G2", "5")
    await sheet.write("H2", "=B1+1")
    await sheet.write("I2", "2024-03-05")
    await sheet.write("J2", "left open", press_enter=False)
    await sheet.press("down")
    if not await sheet.is_at("J3"):  # a busy sheet may lose the key, and Escape would undo the text
        await sheet.press("down")
    await sheet.write("N2", "a🙂b")
    await sheet.again("c🙂d", press_enter=False)
    await sheet.press("enter")
    await sheet.write("K2", "App", press_enter=False)
    for text in ("teh", "MAny words i typed", "IBan"):
        await sheet.press("enter")
        await sheet.again(text, press_enter=False)
    await sheet.press("tab")
    await sheet.again("be", press_enter=False)
    await sheet.again("fore", press_enter=False)
    await sheet.press("enter")
    await sheet.go("M1")
    await sheet.press("f2")
    await opened(sheet.desktop, "paragraph")
    await sheet.again(" junk", press_enter=False)
    await sheet.press("enter")
    await sheet.write("A22", "IBan\tb c\t7\nnext", press_enter=True)


ONE_CELL = {"B2": 99, "A1": "first", "A5": "edited", "C7": None}
EXACT = {"E2": "App", "E3": "IBan", "E4": "(c) teh, MAny words i typed", "E5": "App", "F2": 12}
TAKEN_AS_SUCH = {"G2": 0.05, "H2": "=B1+1", "J2": "left open"}
ENTERED_LATER = {"K2": "App", "K3": "teh", "K4": "MAny words i typed", "K5": "IBan"}
WIDE = {"N2": "a🙂b", "N3": "c🙂d"}
CONTINUED = {"L5": "before", "M1": "Note junk"}
MOVED_ON = {"A22": "IBan", "B22": "b c", "C22": 7, "A23": "next"}


@pytest.mark.parametrize("expected", [ONE_CELL, EXACT, TAKEN_AS_SUCH, ENTERED_LATER, CONTINUED, WIDE, MOVED_ON])
def test_a_cell_holds_the_typed_text(saved, expected):
    assert {place: saved[1].get(place) for place in expected} == expected


def test_a_date_is_a_date(saved):
    assert f"{saved[1]['I2']:%Y-%m-%d}" == "2024-03-05"


def test_no_other_cell_changes(saved):
    before, after = saved
    meant = {*ONE_CELL, *EXACT, *TAKEN_AS_SUCH, *ENTERED_LATER, *CONTINUED, *WIDE, *MOVED_ON, "I2"}
    assert {place: held for place, held in after.items() if place not in meant} == {
        place: held for place, held in before.items() if place not in meant
    }


async def test_a_document_is_not_overwritten_and_is_typed_into(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    async with VirtualDesktop(app=office(tmp_path, "--writer", str(path)), app_timeout_s=60) as desktop:
        await opened(desktop, "paragraph")
        with pytest.raises(InvalidUsage, match="would replace all of its text"):
            await desktop.do(Write("new", overwrite=True))
        await desktop.do(Write("Zero "))
        await asyncio.sleep(1)
        held = [each.value for each in (await desktop.elements()).find("paragraph")]
    assert held[:2] == ["Zero one", "two"]


async def test_a_terminal_is_not_overwritten(tmp_path, until: Callable[..., Any]) -> None:
    got = tmp_path / "got"
    script = f"stty -icanon; head -c 4 > {got}.new; mv {got}.new {got}"
    async with VirtualDesktop(app=["xterm", "-e", "sh", "-c", script]) as desktop:
        with pytest.raises(InvalidUsage, match="no field to overwrite"):
            await desktop.do(Write("new", overwrite=True))
        await desktop.do(Write("old!"))
        await until(got.exists)
    assert got.read_text() == "old!"


@pytest.mark.filterwarnings("ignore:Workbook contains no default style")
async def test_overwriting_one_cell_in_gnumeric_changes_no_other(tmp_path: Path) -> None:
    if not shutil.which("gnumeric"):
        pytest.skip("needs the Debian package gnumeric")
    path = tmp_path / "stock.xlsx"
    made().save(path)
    before = read(path)
    async with VirtualDesktop(app=["gnumeric", str(path)], env={"HOME": str(tmp_path)}, app_timeout_s=60) as desktop:
        await opened(desktop, "panel")
        sheet = Sheet(desktop, path)
        for keys in (("ctrl", "home"), ("right",), ("down",)):
            await sheet.press(*keys)
        await sheet.again("99", overwrite=True)
        assert await sheet.saved() == {**before, "B2": 99}
