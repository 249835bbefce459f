"""Tasks on real office programs: amounts in a Calc sheet, an answer in Claws Mail, a line in Mousepad.

The oracle reads the accessibility tree. The judge reads the files that the programs have saved or sent. All steps are
clicks and texts, because the naive loop knows no key combinations.
"""

from __future__ import annotations

import asyncio
import csv
import random
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.erring.declared import file_plain_text, save_declared, send_declared
from benchmarks.erring.errors import Call, Control, Kind, Meant, Mind, is_pointed, point_of
from benchmarks.erring.place import Started, Verdict, answer, fresh
from benchmarks.office.calc import Calc
from benchmarks.office.libreoffice import keeps_format
from benchmarks.office.mail import Mail, message_id, read_letter
from benchmarks.office.trial import drawn
from benchmarks.values import Item
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop import VirtualDesktop

PATIENCE_S = 60.0
NAP_S = 0.3
LATE_S = 1.0
"""Seconds before the judge reads the files, for a letter or a file that is being written."""
WAIT: Call = {"tool_name": "wait", "seconds": 0.5}
PRESSED = ("button", "toggle button", "menu", "menu item", "cell", "text field", "tab", "check box", "combo box")
"""Roles of the elements that an error may hit instead."""


class OfficePlace(ABC):
    """Base of the tasks on office programs."""

    task: ClassVar[str]
    program: ClassVar[str]

    def __init__(self, seed: int, folder: Path) -> None:
        self.item = Item("office", self.task, seed)
        self.work = fresh(folder / "work")
        self.name, self.people = drawn(self.item)
        home = {"HOME": str(self.work.parent), "LC_ALL": "C.UTF-8", "SAL_USE_VCLPLUGIN": "gtk3"}
        self.started = Started(self.prepare(), home)
        self.goal = self.goal_with_password = f"{self.asked()} When it is done, answer with the word done."
        self.tree = ElementTree((), ())
        self._key = f"{self.item.name}/{folder.name}"

    @classmethod
    def missing(cls) -> str:
        """Return the missing program; empty if it is installed."""
        return "" if shutil.which(cls.program) else f"{cls.program} is not installed"

    @abstractmethod
    def prepare(self) -> list[str]:
        """Write the files, and return the command that starts the program."""

    @abstractmethod
    def asked(self) -> str:
        """Return the task in words."""

    @abstractmethod
    def mind(self) -> Mind:
        """Return the mind of a model that has just read the task."""

    @abstractmethod
    def next_step(self, mind: Mind) -> Meant:
        """Return the right next step by the newest tree and the files."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Say whether the program shows the controls with which the task begins."""

    async def ready(self, desktop: VirtualDesktop) -> None:
        """Wait until the program's tree has the controls with which the task begins."""
        self._desktop, self._loop = desktop, asyncio.get_running_loop()
        end = time.monotonic() + PATIENCE_S
        while not self.is_ready():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.task}: its controls are not in the tree after {PATIENCE_S:.0f} s")
            await asyncio.sleep(NAP_S)
            self.tree = await desktop.elements()

    def controls(self) -> Sequence[Control]:
        """Read the tree, and return the controls that show in it."""
        self.tree = asyncio.run_coroutine_threadsafe(self._desktop.elements(), self._loop).result(PATIENCE_S)
        return [Control(f"{one.role} {one.name}", one.box) for one in self._shown(*PRESSED)]

    def _shown(self, *roles: str) -> list[Element]:
        return [one for one in self.tree.elements if one.role in roles and one.on_screen]

    def named(self, role: str, name: str) -> Element | None:
        """Return the last element of a role and a name that shows: the one in the newest window."""
        return next((one for one in reversed(self._shown(role)) if one.name == name), None)

    def meant(self, mind: Mind) -> Meant | None:
        return self.next_step(mind)

    def fill(self, box: Box, called: str, mind: Mind, name: str, held: str, *, press_enter: bool = False) -> Meant:
        """Return the next step that enters a value: a click into the field, then the text."""
        last = mind.last or {}
        if not (is_pointed(last) and box.contains(point_of(last))):
            return press(box, called, field=name)
        call: Call = {"tool_name": "write", "content": mind.values[name], "press_enter": press_enter}
        call |= {"overwrite": bool(held), "clears": len(held), "at": [box.center.x, box.center.y]}
        return Meant(call, field=name, value=True)

    def answers(self, number: int) -> Mapping[Kind, Call]:
        return {"early": answer("done"), "invented": answer("done")}

    @abstractmethod
    async def run_agent(self, arm: str) -> object:
        """Have the agent work on it in an arm of the library."""

    async def judged(self) -> Verdict:
        await asyncio.sleep(LATE_S)
        return await asyncio.to_thread(self.verdict)

    @abstractmethod
    def verdict(self) -> Verdict:
        """Return the finding in the files."""


def press(box: Box, called: str, **more: str) -> Meant:
    """Return a click on a control."""
    at = box.center
    return Meant({"tool_name": "click", "element": called, "x": at.x, "y": at.y}, field=more.get("field", ""))


class FilePlace(OfficePlace):
    """Base of the tasks that save a file."""

    @abstractmethod
    def wanted_file(self) -> tuple[str, str]:
        """Return the path of the file that is to be saved, and its wanted text."""

    async def run_agent(self, arm: str) -> object:
        if arm == "declared":
            return await save_declared(self.goal, self._key, *self.wanted_file())
        return await file_plain_text(self.goal, self._key)


class CalcPlace(FilePlace):
    """Amounts next to names in a sheet that is a file of comma-separated values."""

    task, program = "calc", "localc"

    def prepare(self) -> list[str]:
        return Calc.prepare(self.item, self.work)

    @property
    def amounts(self) -> dict[str, str]:
        draw = random.Random(self.name)
        return {person: str(draw.randrange(10, 1000)) for person in self.people}

    def asked(self) -> str:
        pairs = ", ".join(f"{amount} for {name}" for name, amount in self.amounts.items())
        return f"In the sheet, put these amounts beside the names: {pairs}. Save the file, and keep its format."

    def mind(self) -> Mind:
        return Mind.of(self.amounts)

    def is_ready(self) -> bool:
        names = {"A1", "B1", *(f"A{row}" for row, _ in enumerate(self.people, 2))}
        return names <= {one.name for one in self._shown("cell")}

    def controls(self) -> Sequence[Control]:
        return [*super().controls(), *(Control(f"cell B{row}", box) for row, box in self._amount_cells().items())]

    def _amount_cells(self) -> dict[int, Box]:
        """Return the boxes of the cells for the amounts. The tree has no empty cells."""
        cells = {one.name: one.box for one in self._shown("cell")}
        rows = range(2, len(self.people) + 2)
        if "B1" not in cells:
            return {}
        wide = cells["B1"]
        return {
            row: Box(wide.left, cell.top, wide.width, cell.height) for row in rows if (cell := cells.get(f"A{row}"))
        }

    def next_step(self, mind: Mind) -> Meant:
        if keep := keeps_format(self.tree):
            found = self.named("button", str(keep["element"]))
            return press(found.box, found.name) if found else Meant(WAIT)
        if self.rows() == self._believed(mind):
            return Meant(answer("done"))
        held = {one.name: one.value for one in self._shown("cell") if one.value}
        boxes = self._amount_cells()
        usual = {"A1": "Name", "B1": "Amount", **{f"A{row}": name for row, name in enumerate(self.people, 2)}}
        spoilt = {
            name for name, value in held.items() if name not in usual and name not in {f"B{row}" for row in boxes}
        }
        spoilt |= {name for name, value in usual.items() if held.get(name) != value}
        undo = self.named("button", "Undo")
        if spoilt and undo is not None:
            return press(undo.box, "Undo button")
        for row, name in enumerate(self.people, 2):
            if mind.skips == name or held.get(f"B{row}", "") == mind.values[name]:
                continue
            if row not in boxes:
                return Meant(WAIT)
            return self.fill(boxes[row], f"Cell B{row} beside {name}", mind, name, "", press_enter=True)
        save = self.named("button", "Save")
        return press(save.box, "Save button") if save else Meant(WAIT)

    def wanted_file(self) -> tuple[str, str]:
        rows = ["Name,Amount", *(f"{name},{amount}" for name, amount in self.amounts.items())]
        return str(self.work / "amounts.csv"), "\n".join(rows)

    def _believed(self, mind: Mind) -> list[tuple[str, ...]]:
        return [("Name", "Amount"), *((name, mind.values[name]) for name in self.people)]

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the saved file."""
        with (self.work / "amounts.csv").open(newline="", encoding="utf-8") as file:
            return [tuple(row) for row in csv.reader(file)]

    def verdict(self) -> Verdict:
        rows = self.rows()
        wanted = [("Name", "Amount"), *self.amounts.items()]
        untouched = [("Name", "Amount"), *((name, "") for name in self.people)]
        return Verdict(rows == wanted, () if rows in (wanted, untouched) else (f"the file holds {rows}"[:200],))


class MailPlace(OfficePlace):
    """The answer to the only letter in the mailbox."""

    task, program = "mail", "claws-mail"

    def prepare(self) -> list[str]:
        command = Mail.prepare(self.item, self.work)
        for number in (1, 3):
            (self.work / "mail" / "inbox" / str(number)).unlink()
        return command

    @property
    def line(self) -> str:
        return f"Dear {self.people[1]}, your order is on {self.name}."

    def asked(self) -> str:
        return f"Answer the letter of {self.people[1]} with this one line and no other, and send it: {self.line}"

    def mind(self) -> Mind:
        return Mind.of({"body": self.line})

    def is_ready(self) -> bool:
        return self.named("button", "Reply") is not None and any(
            one.value.startswith("From:") for one in self._shown("text field")
        )

    def next_step(self, mind: Mind) -> Meant:
        if self.sent():
            return Meant(answer("done"))
        subject = next((one for one in self._shown("text field") if one.name == "Subject:"), None)
        if subject is None:
            reply = self.named("button", "Reply")
            return press(reply.box, "Reply button") if reply else Meant(WAIT)
        fields = [one for one in self._shown("text field") if {"multi line", "editable"} <= one.states]
        send = self.named("button", "Send")
        if not fields or send is None:
            return Meant(WAIT)
        body = fields[-1]
        if mind.skips != "body" and body.value != mind.values["body"]:
            return self.fill(body.box, "Text of the letter", mind, "body", body.value)
        return press(send.box, "Send button")

    def sent(self) -> list[tuple[list[str], str, str]]:
        """Return the sent letters: the addresses, the letter that is answered, and the text."""
        file = self.work / "sent.eml"
        # The program that sends puts one letter behind the other.
        letters = re.split(rb"^(?=Date: )", file.read_bytes(), flags=re.MULTILINE) if file.exists() else []
        return [read_letter(one) for one in letters if one.strip()]

    async def run_agent(self, arm: str) -> object:
        if arm == "declared":
            return await send_declared(self.goal, self._key, str(self.work / "sent.eml"), self.line)
        return await file_plain_text(self.goal, self._key)

    def verdict(self) -> Verdict:
        wanted = ([f"{self.people[1].lower()}@example.com"], message_id(self.people[1]), self.line)
        sent = self.sent()
        wrong = [f"sent another letter: {one}"[:200] for one in sent if one != wanted]
        if sent.count(wanted) > 1:
            wrong.append(f"sent {sent.count(wanted)} times")
        return Verdict(sent == [wanted], tuple(wrong))


class NotePlace(FilePlace):
    """A line in a text file."""

    task, program = "note", "mousepad"

    def prepare(self) -> list[str]:
        self.file = self.work / f"{self.name}.txt"
        self.file.write_text("")
        return ["mousepad", "--disable-server", str(self.file)]

    @property
    def line(self) -> str:
        return f"{self.name}: {', '.join(self.people)}"

    def asked(self) -> str:
        return f"Write this line into the empty file that is open, and save it: {self.line}"

    def mind(self) -> Mind:
        return Mind.of({"line": self.line})

    def wanted_file(self) -> tuple[str, str]:
        return str(self.file), self.line

    def _texts(self) -> list[Element]:
        return [one for one in self._shown("text field") if "multi line" in one.states]

    def is_ready(self) -> bool:
        return bool(self._texts()) and self.named("menu", "File") is not None

    def next_step(self, mind: Mind) -> Meant:
        if self.file.read_text().strip() == mind.values["line"]:
            return Meant(answer("done"))
        text, menu, save = self._texts(), self.named("menu", "File"), self.named("menu item", "Save")
        if not text or menu is None:
            return Meant(WAIT)
        if mind.skips != "line" and text[0].value != mind.values["line"]:
            return self.fill(text[0].box, "Text of the file", mind, "line", text[0].value)
        return press(save.box, "Save in the File menu") if save else press(menu.box, "File menu")

    def verdict(self) -> Verdict:
        held = self.file.read_text()
        wrong = held.strip() and held.strip() != self.line
        return Verdict(held.strip() == self.line, (f"the file holds {held!r}"[:200],) if wrong else ())


PLACES: dict[str, type[OfficePlace]] = {"calc": CalcPlace, "mail": MailPlace, "note": NotePlace}
