"""Fields of real programs are read back after typing: only a difference is reported to the model."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import openpyxl
import pytest

from holo_tasks.core.elements.typed_field import EMPTY
from holo_tasks.core.errors import ScreenChanged
from holo_tasks.core.input.gestures import Click, Hotkey
from holo_tasks.core.screen.frame import Mask
from holo_tasks.desktop import Settle, VirtualDesktop, tk_python
from holo_tasks.loop import read_back
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.walk import Walk
from holo_tasks.safety.masking.places import FixedRegions
from holo_tasks.safety.redaction import Painter
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.field_text import FieldReader
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON, has_gtk
from tests.accessibility.test_programs import FLAGS, until_there
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, walk_of

pytestmark = pytest.mark.desktop
PATIENCE_S = 60.0
SLOW = Settle(first_change_s=3.0, quiet_s=0.5)
"""Swing draws typed text late on a busy machine."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for the tree: on a busy machine LibreOffice takes seconds to report a sheet."""
    monkeypatch.setattr(read_back, "PATIENCE_S", 30.0)


CALC = Path("/usr/lib/libreoffice/program/libsclo.so")
PAGE = """<!doctype html><meta charset=utf-8><title>Fields</title>
<style>body, input, textarea { font: 16px sans-serif }</style>
<p><label>Empty <input autofocus></label> <label>Holder <input placeholder="Your name"></label>
<p><label>Short <input maxlength=4></label> <label>Drawn <input style="text-transform: uppercase"></label>
<p><label>Town <input id=town></label> <label>Mask <input id=mask></label> <label>Price <input id=price></label>
<p><label>List <input list=words></label><datalist id=words><option>Apple</datalist>
<label>Number <input type=number id=number></label>
<p><label>Notes <textarea rows=2></textarea></label> <label id=count>Comment 0/50 <input id=comment></label>
<div contenteditable aria-label=Rich style="border: 1px solid; width: 300px">old</div>
<p><label>Chat <input id=chat></label> <label>Password <input type=password></label>
<label>Old <input value="Old text"></label>
<p><label>1 <input size=1 maxlength=1 class=code></label> <label>2 <input size=1 maxlength=1 class=code></label>
<p><label>Wiped <input id=wiped></label> <label>Most <input id=most></label> <button>Send</button>
<p><label>Twice <input id=twice readonly></label> <label>Limited <input type=number max=100 required></label>
<script>
number.oninput = () => { twice.value = 2 * number.value };
mask.oninput = () => { mask.value = mask.value.replace(/\\D/g, "").slice(0, 5) };
price.onblur = () => { price.value = parseFloat(price.value.replace(",", ".")).toFixed(2) + " €" };
town.onkeydown = (key) => { if (key.key == "Enter" && town.value == "Bern") town.value = "Berlin" };
wiped.onblur = () => { if (/\\D/.test(wiped.value)) wiped.value = "" };
most.onchange = () => { most.value = Math.min(100, most.value) };
chat.onkeydown = (key) => { if (key.key == "Enter") chat.value = "" };
comment.oninput = () => { count.firstChild.data = "Comment " + comment.value.length + "/50 " };
for (const box of document.querySelectorAll(".code"))
  box.oninput = () => { if (box.value) [...document.querySelectorAll(".code")].at(-1).focus() };
</script>"""


@dataclass
class Stage:
    """A program whose fields get text by a model's steps."""

    walk: Walk
    recorder: MemoryRecorder
    beside: str = ""
    """The sentence of the last result about other fields."""

    async def tab(self, times: int = 1) -> None:
        await self.press("tab", times)

    async def press(self, key: str, times: int = 1) -> None:
        await self.walk.services.desktop.do(Hotkey((key,), times))
        await self.walk.look(after_action=True)

    async def step(self, tool: str, **how: object) -> str:
        """Do a step of a model; return the whole result."""
        step = a_step(tool, **how)
        while True:
            before = self.walk.seen
            assert before is not None
            try:
                await self.walk.act(step)
                break
            except ScreenChanged:  # the program still draws the previous step
                await self.walk.look()
        return await self.walk.verify(before, step.tool_call, started_s=self.walk.services.now_s())

    async def send(self) -> str:
        """Press the button that sends the form; return the sentence about a field."""
        desktop = self.walk.services.desktop
        place = (await desktop.elements()).find("button", "Send")[0].box.center  # type: ignore[attr-defined]
        x, y = (place.x + 0.5) * 1000 / desktop.size.width, (place.y + 0.5) * 1000 / desktop.size.height  # type: ignore[attr-defined]
        said = await self.step("click", element="Send", x=round(x), y=round(y))
        return said.partition("The field")[2].strip()

    async def focus(self, name: str) -> None:
        """Click a field that its program reports."""
        desktop = self.walk.services.desktop
        fields = (await desktop.elements()).find(None, name)  # type: ignore[attr-defined]
        field = next(each for each in fields if each.role in ("text field", "spin button"))
        await desktop.do(Click(field.box.center))
        await self.walk.look(after_action=True)

    async def write(self, text: str, **how: object) -> str:
        """Type a text; return the sentence about the field."""
        said = await self.step("write", content=text, **how)
        await self.walk.record(self.recorder.of("field_read")[-1].model_copy())  # flush the background writes
        self.beside = said.partition("Another field changed as well: ")[2].partition("\n")[0]
        return said.partition("The field")[2].strip()

    async def types_a_password(self) -> None:
        """Type into a password field: the text is neither read nor reported."""
        assert await self.write("Rosebud7") == ""
        read = self.recorder.of("field_read")[-1]
        assert (read.outcome, read.held, read.field) == ("unread", "", "")
        assert "Rosebud7" not in read.why

    @property
    def outcome(self) -> str:
        return str(self.recorder.of("field_read")[-1].outcome)


@asynccontextmanager
async def stage(
    app: list[str], ready: Callable[[VirtualDesktop], object] | None = None, **how: object
) -> AsyncIterator[Stage]:
    redactor = how.pop("redactor", None)
    async with VirtualDesktop(app=app, app_timeout_s=PATIENCE_S, **how) as desktop:  # type: ignore[arg-type]
        recorder = MemoryRecorder()
        walk = walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder, redactor=redactor)  # type: ignore[arg-type]
        walk.services = replace(
            walk.services, elements=Elements(desktop), field_text=FieldReader() if can_read() else None
        )
        if ready is not None:
            await ready(desktop)  # type: ignore[misc]
        await walk.look()
        yield Stage(walk, recorder)


def gtk() -> list[str]:
    if not has_gtk("3.0"):
        pytest.skip("needs the Debian packages python3-gi and gir1.2-gtk-3.0")
    return [DEBIAN_PYTHON, str(APPS / "fields_gtk3.py")]


async def first_field(desktop: VirtualDesktop) -> None:
    await until_there(desktop, "text field", "Plain")


async def test_a_completed_or_truncated_text_in_gtk_is_reported(tmp_path: Path) -> None:
    async with stage(gtk(), first_field) as form:
        assert await form.write("Zoë 🙂") == ""
        assert await form.write(" King") == ""
        await form.tab()
        assert await form.write("Ada") == ""
        await form.tab()
        assert await form.write("Ap") == "holds ‘Apple’, not ‘Ap’."
        await form.tab()
        assert await form.write("abcdef") == "holds ‘abcd’, not ‘abcdef’."
        assert await form.write("x") == "holds ‘abcd’ as before and did not take ‘x’."
        await form.tab()
        assert await form.write("200", press_enter=True) == "holds ‘100’ after ‘200’ was typed."
        assert await form.write("50", overwrite=True, press_enter=True) == ""
        await form.tab()
        assert await form.write("Austria") == ""
        await form.tab(2)
        assert await form.write("hello", press_enter=True) == ""
        assert form.outcome == "cleared"
        await form.tab()
        assert await form.write("loud", press_enter=True) == "holds ‘LOUD’, not ‘loud’."
        assert await form.write("quiet\tpw", overwrite=True) == ""
        await form.tab()
        assert await form.write("one\ntwo") == ""
        assert form.outcome == "exact"


async def chosen_and_reformatted(form: Stage) -> None:
    """Check fields that take another entry at Enter, or reformat an amount when the focus leaves them."""
    await form.focus("Town")
    assert await form.write("Bonn", press_enter=True) == ""
    assert await form.write("Bern", overwrite=True, press_enter=True) == "holds ‘Berlin’, not ‘Bern’."
    await form.focus("Price")
    assert await form.write("1,5\t") == "holds ‘1.50 €’, not ‘1,5’."
    await form.focus("Price")
    assert await form.write("2.50 €\t", overwrite=True) == ""


async def tells_of_another_field(form: Stage) -> None:
    """Check that the result of an overwritten field names the field that the form changes with it."""
    for text, beside in (("21", "‘Twice’ holds ‘42’."), ("21", ""), ("4", "‘Twice’ holds ‘8’.")):
        await form.focus("Number")
        assert await form.write(text, overwrite=True) == ""
        assert form.beside == beside


async def tells_a_later_change(form: Stage, name: str, typed: str, at_once: str, later: str) -> None:
    """Check a field that keeps a typed text until the keyboard leaves it, and changes or empties it then."""
    await form.focus(name)
    assert (await form.write(typed, overwrite=True)).partition(" Another field")[0] == at_once
    assert f"The field ‘{name}’ {later}" in await form.step("hotkey", keys=["tab"])
    assert "The field" not in await form.step("hotkey", keys=["tab"])
    await form.focus(name)
    assert "invalid" not in await form.write("100", overwrite=True)
    assert "The field" not in await form.step("hotkey", keys=["tab"])


async def tells_a_change_by_sending(form: Stage, name: str, typed: str, at_once: str) -> None:
    """Check a number that the program limits to 100 only as the keyboard leaves its field for the button."""
    for text, told, later in ((typed, at_once, f"‘{name}’ now holds ‘100’, not ‘{typed}’."), ("100", "", "")):
        await form.focus(name)
        assert await form.write(text, overwrite=True) == told
        assert await form.send() == later


async def test_another_entry_or_format_in_gtk_is_reported() -> None:
    async with stage(gtk(), first_field) as form:
        await chosen_and_reformatted(form)
        await tells_of_another_field(form)
        await tells_a_later_change(form, "Number", "200", "is marked as invalid.", "now holds ‘100’, not ‘200’.")
        await tells_a_later_change(form, "Wiped", "12.50", "", "is empty now and did not keep ‘12.50’.")


async def test_a_password_field_is_not_read() -> None:
    async with stage(gtk(), first_field) as form:
        await form.tab(9)
        await form.types_a_password()


async def test_a_masked_field_is_not_reported() -> None:
    async with stage(gtk(), first_field) as form:
        tree = await form.walk.services.desktop.elements()  # type: ignore[attr-defined]
        short = tree.find("text field", "Short")[0]
        form.walk.services = replace(
            form.walk.services, redactor=Painter([FixedRegions([Mask("customer", short.box)])])
        )
        await form.walk.look()
        await form.tab(3)
        assert await form.write("abcdef") == ""
        assert form.recorder.of("field_read")[-1].why == "a part of the field is masked"


async def test_a_formatted_or_truncated_text_in_qt_is_reported() -> None:
    pytest.importorskip("PySide6", reason="needs the package PySide6, a test dependency")
    async with stage([sys.executable, str(APPS / "fields_qt.py")], first_field) as form:
        assert await form.write("Zoë 🙂") == ""
        await form.tab()
        assert "holds ‘12/31/2024’" in await form.write("12312024")
        assert form.outcome == "formatted"
        await form.tab()
        assert await form.write("abcdef") == "holds ‘abcd’, not ‘abcdef’."
        await form.tab()
        assert await form.write("20") == ""
        assert await form.write("999") == "holds ‘20’ as before and did not take ‘999’."
        await form.tab()
        assert await form.write("Ap") == "holds ‘Apple’, not ‘Ap’."
        await form.tab()
        assert await form.write("Austria") == ""
        await form.tab()
        await form.types_a_password()
        await form.tab()
        assert await form.write("one") == ""
        assert form.outcome == "exact"
        await chosen_and_reformatted(form)
        await tells_of_another_field(form)
        await form.focus("Mask")
        assert await form.write("12a31b2024", overwrite=True) == "holds ‘12/31/2024’, not ‘12a31b2024’."
        await form.tab(4)
        assert await form.write("belgium", overwrite=True, press_enter=True) == "holds ‘Belgium’, not ‘belgium’."
        await form.focus("Weight")
        assert await form.write("42", overwrite=True) == "holds ‘42 kg’, not ‘42’."
        assert form.outcome == "formatted"  # the unit is the field's own
        assert await form.write("42 kg", overwrite=True) == ""
        await tells_a_later_change(form, "Least", "50", "is marked as invalid.", "now holds ‘100’, not ‘50’.")
        await tells_a_later_change(form, "Wiped", "12.50", "", "is empty now and did not keep ‘12.50’.")
        await tells_a_change_by_sending(form, "Near", "50", "is marked as invalid.")


@pytest.mark.skipif(not can_read(), reason="needs OCR, the extra rehearsal")
async def test_a_date_of_qt_that_took_nothing_is_reported_although_it_looks_different() -> None:
    """Its text was selected, so the picture has changed, and the tree has the text of before."""
    pytest.importorskip("PySide6", reason="needs the package PySide6, a test dependency")
    async with stage([sys.executable, str(APPS / "fields_qt.py")], first_field) as form:
        await form.focus("Due")
        assert await form.write("2024-05-31", overwrite=True) == "holds ‘01.01.2000’, not ‘2024-05-31’."
        assert await form.write("05.03.2026\t345", overwrite=True) == ""
        tree = await form.walk.services.desktop.elements()  # type: ignore[attr-defined]
        assert [tree.find("spin button", name)[0].value for name in ("Due", "Least")] == ["05.03.2026", "345"]
        await form.focus("Due")
        assert await form.write("31.05.2024", overwrite=True) == ""
        assert form.outcome == "exact"
        await form.focus("Short")
        assert await form.write("abcd", overwrite=True) == await form.write("abcd", overwrite=True) == ""


async def test_a_reformatted_or_shortened_text_in_a_page_is_reported(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    app = shlex.split(f"chromium {FLAGS} --user-data-dir={tmp_path}/profile --app=file://{tmp_path}/page.html")

    async def there(desktop: VirtualDesktop) -> None:
        await until_there(desktop, "text field", "Empty")

    async with stage(app, there, env={"HOME": str(tmp_path)}) as form:
        told = (await form.walk.services.desktop.elements()).elements  # type: ignore[attr-defined]
        empty = {each.name for each in told if EMPTY in each.states}
        assert empty >= {"Empty", "Holder", "Town"}
        assert empty.isdisjoint({"Old", "Rich", "Password"})
        said = [await form.write("Zoë 🙂")]
        assert form.outcome == "exact"
        for text in ("Ada", "abcdef", "up", "Bern\n", "a1b2c3"):
            await form.tab()
            said.append(await form.write(text))
        took = "holds ‘Berlin’, not ‘Bern’."
        assert said == ["", "", "holds ‘abcd’, not ‘abcdef’.", "", took, "holds ‘123’, not ‘a1b2c3’."]
        await form.tab()
        assert await form.write("1,5\t") == "holds ‘1.50 €’, not ‘1,5’."  # and the focus is in the next field
        assert await form.write("Ap") == ""  # the list below offers Apple, and the field has only the typed text
        await form.tab()
        assert await form.write("007") == ""
        await form.tab()
        assert await form.write("one\ntwo") == ""
        await form.tab()
        assert await form.write("fine") == ""  # the label counts characters
        await form.tab()
        assert await form.write("new ") == ""
        await form.tab()
        assert await form.write("hello", press_enter=True) == ""
        await form.tab()
        await form.types_a_password()
        await form.tab()
        assert await form.write("New", overwrite=True) == ""
        await form.tab()
        assert await form.write("42") == ""  # each digit has its own box
        assert form.outcome == "unread"
        await tells_of_another_field(form)
        await tells_a_later_change(form, "Wiped", "12.50", "", "is empty now and did not keep ‘12.50’.")
        await tells_a_change_by_sending(form, "Most", "250", "")
        await form.focus("Limited")
        assert await form.write("250", overwrite=True) == "is marked as invalid."
        assert form.walk.typed.result is not None
        assert "‘Limited’ is marked as invalid after ‘250’" in form.walk.typed.result.problem
        form.walk.typed.shows = "250"
        assert await form.write("250", overwrite=True) == ""
        assert await form.write("50", overwrite=True) == ""
        assert await form.write("", overwrite=True) == ""  # nothing was typed into a required field


DATES = """<!doctype html><title>Dates</title><label>Due <input type=date></label>
<label>Time <input type=time></label><label>Both <input type=datetime-local></label>"""


async def test_the_parts_of_a_date_in_a_page_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(DATES, encoding="utf-8")
    profile = f"--user-data-dir={tmp_path}/profile"
    app = shlex.split(f"chromium {FLAGS} --lang=en-US {profile} --app=file://{tmp_path}/page.html")

    async def there(desktop: VirtualDesktop) -> None:
        await until_there(desktop, "date editor", "Both")

    async with stage(app, there, env={"HOME": str(tmp_path)}) as form:
        await form.tab()
        for text, said in (
            ("05/31/2024", ""),
            ("06012025", "holds ‘06/01/2025’, not ‘06012025’."),
            ("2024-05-31", "holds ‘02/02/40531’, not ‘2024-05-31’."),
        ):
            assert await form.write(text, overwrite=True) == said
            assert (form.outcome == "corrected") == text.startswith("2024")
        assert form.recorder.of("field_read")[-1].field == "Due"
        await form.focus("Hours Time")
        assert await form.write("14:30") == "holds ‘02:30 PM’, not ‘14:30’."
        assert form.outcome == "formatted"
        await form.focus("Month Both")
        assert await form.write("05312024\t0230PM") == "holds ‘05/31/2024, 02:30 PM’, not ‘05312024 0230PM’."
        assert form.outcome == "formatted"


async def test_a_cell_of_calc_is_read_back(tmp_path: Path) -> None:
    if not os.access(CALC, os.R_OK):
        pytest.skip("needs the Debian packages libreoffice-calc and libreoffice-gtk3")
    book = openpyxl.Workbook()
    for row in (("Apple", 1), (None, 2), (None, 3)):
        book.active.append(row)  # type: ignore[union-attr]
    book.save(tmp_path / "stock.xlsx")
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    app = ["libreoffice", profile, "--nologo", "--norestore", "--calc", str(tmp_path / "stock.xlsx")]

    async def at_second_row(desktop: VirtualDesktop) -> None:
        await until_there(desktop, "cell", "A1")
        for keys in (("esc",), ("ctrl", "home"), ("down",)):
            await desktop.do(Hotkey(keys))
        end = time.monotonic() + PATIENCE_S
        while not any(each.value == "A2" for each in (await desktop.elements()).elements):
            assert time.monotonic() < end
            await asyncio.sleep(0.1)

    async with stage(app, at_second_row) as sheet:
        assert 'not ‘say "hi"’' in await sheet.write('say "hi"', press_enter=True)
        exact = ("App", "IBan", "teh dog", "Zoë", "1234.5", "=1+1")
        assert [await sheet.write(text, press_enter=True) for text in exact] == [""] * len(exact)
        assert await sheet.write("3\t4\n") == ""
        read = sheet.recorder.of("field_read")
        assert {each.by for each in read} == {"accessibility"}


async def test_paragraphs_of_writer_are_read_back(tmp_path: Path) -> None:
    if not shutil.which("libreoffice"):
        pytest.skip("needs the Debian packages libreoffice-writer and libreoffice-gtk3")
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"

    async def there(desktop: VirtualDesktop) -> None:
        await until_there(desktop, "paragraph", None)

    async with stage(["libreoffice", profile, "--nologo", "--norestore", "--writer"], there) as letter:
        for text in ("Dear Ada", "\nThe bill is\npaid", " in full\n"):
            assert await letter.write(text) == ""
            assert letter.outcome == "exact"
        assert await letter.write("teh ") == "holds ‘the’, not ‘teh’."
        assert "not take" not in await letter.write("\na dog")


@pytest.mark.long
@pytest.mark.parametrize("by", ["text", ""])
async def test_a_cell_of_gnumeric_is_read_by_ocr_or_not_confirmed(tmp_path: Path, by: str) -> None:
    """Gnumeric corrects `IBan` to `Iban`, and its tree has no texts of cells."""
    if not shutil.which("gnumeric"):
        pytest.skip("needs the Debian package gnumeric")
    if by and not can_read():
        pytest.skip("needs OCR, the extra rehearsal")
    book = openpyxl.Workbook()
    book.save(tmp_path / "stock.xlsx")

    async def there(desktop: VirtualDesktop) -> None:
        await until_there(desktop, "text field", None)

    async with stage(["gnumeric", str(tmp_path / "stock.xlsx")], there, env={"HOME": str(tmp_path)}) as sheet:
        if not by:
            sheet.walk.services = replace(sheet.walk.services, field_text=None)
        exact, said = ("exact", "holds ‘Iban’, not ‘IBan’.") if by else ("unread", "")
        assert await sheet.write("Berlin", press_enter=True) == ""
        assert (sheet.outcome, sheet.recorder.of("field_read")[-1].by) == (exact, by)
        assert await sheet.write("IBan", press_enter=True) == said
        assert await sheet.write("1.5", press_enter=True) == ""
        assert sheet.outcome == exact


@pytest.mark.skipif(not can_read(), reason="needs OCR, the extra rehearsal")
async def test_a_field_of_tk_is_read_by_ocr() -> None:
    async with stage([tk_python(), str(APPS / "fields_tk.py")]) as form:
        assert await form.write("Ada Lovelace") == ""
        assert (form.outcome, form.recorder.of("field_read")[-1].by) == ("exact", "text")
        assert await form.write(" King") == ""
        await form.tab()
        assert await form.write("12ab34") == "holds ‘1234’, not ‘12ab34’."
        await form.tab()
        assert await form.write("Ber", press_enter=True) == "holds ‘Berlin Mitte’, not ‘Ber’."
        await form.tab()
        await form.types_a_password()


@pytest.mark.skipif(not can_read(), reason="needs OCR, the extra rehearsal")
@pytest.mark.skipif(shutil.which("java") is None, reason="needs the Debian package default-jdk-headless and Swing")
async def test_lost_letters_in_swing_are_reported_and_wide_characters_are_pasted(
    tmp_path: Path,
) -> None:
    log = tmp_path / "held"

    async def shown(desktop: VirtualDesktop) -> None:
        await until(lambda: log.exists())

    async def until(reached: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < end, log.exists() and log.read_text()
            await asyncio.sleep(0.05)

    async with stage(["java", str(APPS / "FieldsSwing.java"), str(log)], shown, settle=SLOW) as form:
        assert await form.write("a🙂b") == ""
        await until(lambda: log.read_text() == "a🙂b|")
        await form.tab()
        assert await form.write("12ab34") == "holds ‘1234’, not ‘12ab34’."
        await until(lambda: log.read_text() == "a🙂b|1234")
        await form.tab()
        assert await form.write("12 pieces\t") == "holds ‘12’, not ‘12 pieces’."
        assert await form.write("12.50") == ""
        assert "The field is empty now and did not keep ‘12.50’." in await form.step("hotkey", keys=["tab"])
        for _ in range(3):  # Swing may lose a Tab that comes while the keyboard still moves
            await form.tab()
            await asyncio.sleep(0.5)
        assert await form.write("12.7", overwrite=True) == ""
        assert "The field now holds ‘12’, not ‘12.7’." in await form.step("hotkey", keys=["tab"])
        assert await form.write("$12.50") == ""
        assert "The field" not in await form.step("hotkey", keys=["tab"])
        await form.types_a_password()
