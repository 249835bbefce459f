"""Tasks on Tk programs with forms: flags in the demo's ledger, entries in the nasty cashbooks.

The programs write the names and boxes of their controls to a file (`--state-file`). The judge reads their databases.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from legacy_ledger_db import LedgerFile, Transaction, create_database
from receipts_mailbox import transactions

from benchmarks.erring.declared import file_declared, file_plain, flag_declared, flag_plain
from benchmarks.erring.errors import Call, Control, Kind, Meant, Mind, is_pointed, point_of
from benchmarks.erring.place import Started, Verdict, answer, fresh
from benchmarks.ledger import PROGRAM as LEDGER
from benchmarks.nasty.programs import PROGRAM as CASHBOOK
from benchmarks.nasty.programs.seeds import plan
from benchmarks.nasty.programs.store import Store
from benchmarks.nasty.suite import LATE
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop import VirtualDesktop, tk_python

PATIENCE_S = 20.0
LATE_S = 0.6
"""Seconds before the judge reads the database, for effects that are under way."""
WAIT: Call = {"tool_name": "wait", "seconds": 0.3}


@dataclass(frozen=True)
class Shown:
    """Contents of a program's screen, as the program wrote them down."""

    screen: str
    popup: str | None
    busy: bool
    status: str
    focus: str | None
    widgets: Mapping[str, Box]
    values: Mapping[str, str]


class StateFile:
    """File to which a program writes the contents of its screen."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Shown:
        """Return the contents of the screen; wait for a program that has not written the file yet."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                state = json.loads(self.path.read_text(encoding="utf-8"))
                break
            except FileNotFoundError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        boxes = {name: Box(*box) for name, box in state["widgets"].items()}
        names = ("screen", "popup", "busy", "status", "focus", "values")
        return Shown(**{name: state[name] for name in names}, widgets=boxes)


class Form:
    """Base of the tasks on forms: fills fields and presses buttons."""

    words: ClassVar[Mapping[str, str]]
    """Names that the model gives to the controls, by the program's own names."""

    def __init__(self, folder: Path) -> None:
        self.folder = fresh(folder)
        self._state = StateFile(folder / "state.json")
        self.secret = self.folder / "password"
        self.password = secrets.token_urlsafe(9)
        self.secret.write_text(self.password, encoding="utf-8")
        self.secret.chmod(0o600)

    async def ready(self, desktop: VirtualDesktop) -> None:
        """Wait until the program has written where its controls are."""
        await asyncio.to_thread(self._state.read)

    def controls(self) -> Sequence[Control]:
        return [Control(name, box) for name, box in self._state.read().widgets.items()]

    def press(self, shown: Shown, part: str, **more: Any) -> Meant:
        """Return a click on a control."""
        box = shown.widgets.get(part)
        if box is None:
            return Meant(WAIT)  # the program is about to draw it
        at = box.center
        called = self.words.get(part, part.rpartition(":")[2])
        return Meant({"tool_name": "click", "element": called, "x": at.x, "y": at.y}, **more)

    def fill(self, shown: Shown, mind: Mind, part: str, *, secret: str = "", begun: bool = True) -> Meant | None:
        """Return the next step that fills a field; ``None`` if it is filled, or the model takes it for filled.

        A field is clicked before text is typed, also where the program has put the keyboard there by itself.
        """
        holds, value = shown.values.get(part, ""), mind.values[part]
        if mind.skips == part or (len(holds) == len(value) if secret else holds == value):
            return None
        last = mind.last or {}
        clicked = is_pointed(last) and part in shown.widgets and shown.widgets[part].contains(point_of(last))
        if shown.focus != part or not clicked:
            return self.press(shown, part, field=part, begun=begun)
        at = shown.widgets[part].center
        call = {"tool_name": "write", "content": secret or value, "overwrite": bool(holds), "clears": len(holds)}
        call |= {"at": [at.x, at.y]}
        return Meant(call, field=part, value=not secret, begun=begun)

    def sign_on(self, shown: Shown, mind: Mind, secret: str) -> Meant:
        """Return the next step on a sign-on screen."""
        return (
            self.fill(shown, mind, "user", begun=False)
            or self.fill(shown, mind, "password", secret=secret, begun=False)
            or self.press(shown, "log_in", begun=False)
        )


class LedgerFlag(Form):
    """A flag for review, filed once in the demo's legacy program."""

    words: ClassVar[Mapping[str, str]] = {
        "user": "User field",
        "password": "Password field",
        "log_in": "Log in button",
        "transaction_search": "Transaction search button",
        "reference": "Reference field",
        "search": "Search button",
        "flag": "Flag for review button",
        "back": "Back button",
        "note": "Note field",
        "save": "Save flag button",
        "cancel": "Cancel button",
        "ok": "OK button",
        "tip.close": "Close button of the tip",
        "about.close": "Close button of the box about the program",
    }

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(folder)
        draw = random.Random(f"ledger {seed}")
        rows = [Transaction(**cast("dict[str, Any]", row)) for row in transactions()]
        record = draw.choice(rows)
        cents = draw.randrange(1000, 200000)
        self.reason, self.note = draw.choice(
            [
                ("Wrong amount", f"Receipt says {record.currency} {cents // 100}.{cents % 100:02d}"),
                ("Duplicate receipt", f"Same receipt as {draw.randrange(10**7, 10**8)}"),
            ]
        )
        self.reference = record.reference
        self.ledger = LedgerFile(self.folder / "meridian.db")
        create_database(self.ledger.path, rows)
        words = [tk_python(), str(LEDGER), "--db", str(self.ledger.path), "--secret-file", str(self.secret)]
        words += ["--seed", str(seed), "--state-file", str(self._state.path)]
        self.started = Started(words, secrets={"portal_password": self.password})
        goal = (
            f"File a flag for review on transaction {self.reference} in Meridian Ledger with reason “{self.reason}” "
            f"and note “{self.note}”. Do not file it twice: if a flag with this reason is on file already, leave it "
            "so. If the program asks you to sign on, the user is auditor and the password is {}."
        )
        self.goal, self.goal_with_password = goal.format("{{secret:portal_password}}"), goal.format(self.password)
        self.secret_name = "{{secret:portal_password}}"

    def mind(self) -> Mind:
        return Mind.of(
            {
                "user": "auditor",
                "password": self.password,
                "reference": self.reference,
                "reason": self.reason,
                "note": self.note,
            }
        )

    def meant(self, mind: Mind) -> Meant | None:
        shown = self._state.read()
        if shown.popup:
            return self.press(shown, f"{shown.popup}.close")
        if shown.busy:
            return Meant(WAIT)
        match shown.screen:
            case "sign_on":
                return self.sign_on(shown, mind, self.secret_name)
            case "menu":
                return self.press(shown, "transaction_search", begun=False)
            case "search":
                if shown.status.startswith("E-114"):
                    mind.read_again("reference")
                return self.fill(shown, mind, "reference", begun=False) or self.press(shown, "search", begun=False)
            case "no_record":
                mind.read_again("reference")
                return self.press(shown, "back")
            case "detail":
                return self._on_record(shown, mind)
            case "flag":
                return self._on_flag(shown, mind)
            case "saved":
                return Meant(answer(json.dumps({"flag": int(shown.values["flag_id"]), "already": False})))
        return None

    def _on_record(self, shown: Shown, mind: Mind) -> Meant:
        if shown.values["Reference"] != mind.values["reference"]:
            return self.press(shown, "back")
        if mind.values["reason"] in shown.values["flags"]:
            return Meant(answer(json.dumps({"flag": None, "already": True})))
        return self.press(shown, "flag")

    def _on_flag(self, shown: Shown, mind: Mind) -> Meant:
        chosen = mind.skips == "reason" or shown.values["reason"] == mind.values["reason"]
        if not chosen:
            return self.press(shown, f"reason:{mind.values['reason']}", field="reason")
        return self.fill(shown, mind, "note") or self.press(shown, "save")

    def answers(self, number: int) -> Mapping[Kind, Call]:
        draw = random.Random(f"{self.reference} {number}")
        return {
            "early": answer(json.dumps({"flag": None, "already": False})),
            "invented": answer(json.dumps({"flag": draw.randrange(1001, 1100), "already": False})),
        }

    async def run_agent(self, arm: str) -> object:
        file = flag_declared if arm == "declared" else flag_plain
        return await file(self.reference, self.reason, self.note, self.goal, f"{self.reference}/{self.folder.name}")

    async def judged(self) -> Verdict:
        await asyncio.sleep(LATE_S)
        flags = [(one.reference, one.reason, one.note) for one in self.ledger.flags()]
        wanted = (self.reference, self.reason, self.note)
        wrong = [f"filed another flag: {one}" for one in flags if one != wanted]
        if flags.count(wanted) > 1:
            wrong.append(f"filed {flags.count(wanted)} times")
        return Verdict(flags == [wanted], tuple(wrong))


class Entry(Form):
    """An entry, filed once in a nasty cashbook. ``kind`` says in which way the program is nasty."""

    kind: ClassVar[str]
    words: ClassVar[Mapping[str, str]] = {
        "user": "User field",
        "password": "Password field",
        "log_in": "Log in button",
        "new_entry": "New entry button",
        "reference": "Reference field",
        "amount": "Amount field",
        "reason": "Reason field",
        "submit": "Submit button",
        "cancel": "Cancel button",
        "back": "Back to menu button",
        "close": "Close button",
        "delete": "Delete button",
        "unsaved.keep": "Keep editing button",
        "tip.close": "Close button of the tip",
    }

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(folder)
        self.plan = plan(self.kind, seed)
        self.entry, self.store = self.plan.entry, Store(self.folder / "store.db")
        self.store.prepare()
        words = [tk_python(), str(CASHBOOK), self.kind, "--seed", str(seed), "--store", str(self.store.path)]
        words += ["--secret-file", str(self.secret), "--state-file", str(self._state.path)]
        self.started = Started(words, secrets={"cashbook": self.password})
        goal = (
            f"Please file the entry {self.entry.reference}, {self.entry.amount}, {self.entry.reason} in the cashbook, "
            "once. If the program asks you to sign on, the user is clerk and the password is {}."
        )
        self.goal, self.goal_with_password = goal.format("{{secret:cashbook}}"), goal.format(self.password)
        self.secret_name = "{{secret:cashbook}}"
        saves = self.kind in ("lookalike", "shift")
        self.words = {**self.words, "submit": "Save button" if saves else "Submit button"}  # type: ignore[misc]

    def mind(self) -> Mind:
        entry = self.entry
        values = {"reference": entry.reference, "amount": entry.amount, "reason": entry.reason}
        return Mind.of({"user": "clerk", "password": self.password, **values})

    def meant(self, mind: Mind) -> Meant | None:
        shown = self._state.read()
        if shown.popup:
            return self.press(shown, f"{shown.popup}.{'keep' if shown.popup == 'unsaved' else 'close'}")
        if shown.busy:
            return Meant(WAIT)
        believed = tuple(mind.values[name] for name in ("reference", "amount", "reason"))
        rows = [(one.entry.reference, one.entry.amount, one.entry.reason) for one in self.store.submissions()]
        filed = believed in rows
        match shown.screen:
            case "sign_on":
                return self.sign_on(shown, mind, self.secret_name)
            case "menu" if not filed:
                return self.press(shown, "new_entry", begun=False)
            case "menu" | "filed" | "filed_copy" | "next_entry":
                return Meant(answer(json.dumps({"filed": True})))
            case "form" if filed:
                return Meant({**WAIT, "seconds": 1.0})  # it is being filed, and the program shows it late
            case "form":
                fields = ("reference", "amount", "reason")
                filling = (self.fill(shown, mind, part, begun=part != "reference") for part in fields)
                return next(filter(None, filling), None) or self.press(shown, "submit")
        return None

    def answers(self, number: int) -> Mapping[Kind, Call]:
        said = answer(json.dumps({"filed": True}))
        return {"early": said, "invented": said}

    async def run_agent(self, arm: str) -> object:
        file = file_declared if arm == "declared" else file_plain
        key = f"{self.entry.reference}/{self.folder.name}"
        return await file(self.entry.reference, self.goal, key)

    async def judged(self) -> Verdict:
        late = self.plan.delay_s + 1 if self.kind in LATE else 0.0
        await asyncio.sleep(LATE_S + late)
        return Verdict(self.store.filed_once(self.entry), tuple(self.store.wrong_effects(self.entry)))


def entry(kind: str) -> type[Entry]:
    """Return the task on one kind of nasty cashbook."""
    return type(f"Entry_{kind}", (Entry,), {"kind": kind})
