"""A model that drives the legacy program by its state file: quick, exact and careless.

It never checks whether a flag is on file already, whatever the goal says. Only the library prevents a second flag.
Within one conversation it presses “Save flag” once, as any model would.
"""

from __future__ import annotations

import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from holo_tasks.core.texts.outside_text import apart
from tests.support.scripted_model import Answer, ScriptedModel, step

WIDTH, HEIGHT = 1280, 800
PATIENCE_S = 5.0


class Clerk(ScriptedModel):
    """Serves one desktop, whose program writes its state to a file."""

    def __init__(self, state_file: Path) -> None:
        super().__init__(self._next)
        self._file = state_file
        self.puzzled_by: set[str] = set()
        """Transactions about which it asks a person."""
        self.failing_with = 0
        """If set, the HTTP status of all answers after it has signed on."""

    def _next(self, number: int, body: dict[str, Any]) -> dict[str, Any] | Answer:
        goal, data = apart(str(body["messages"][1]["content"]))
        said = [str(message["content"]) for message in body["messages"] if message["role"] == "assistant"]
        state = self._state()
        if state["popup"]:
            return _click(state, f"{state['popup']}.close")
        reference = str(data.get("reference", ""))
        if state["screen"] == "sign_on":
            return _signing_on(state)
        if "Sign on to" in goal[:80]:
            return step("answer", content='{"signed_on": true}')
        if self.failing_with:
            return Answer(status=self.failing_with, body=b"{}")
        if reference in self.puzzled_by:
            return step("ask_human", question=f"What am I to make of {reference}?")
        if "File a flag" in goal[:80]:
            return _filing(state, data, saved=any("flag: save" in one for one in said))
        return _reading(state, reference)

    def _state(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            state: dict[str, Any] = json.loads(self._file.read_text())
            if not state["busy"] or time.monotonic() > deadline:
                return state
            time.sleep(0.02)


def _signing_on(state: dict[str, Any]) -> dict[str, Any]:
    if state["values"]["user"] != "auditor":
        return _write(state, "user", "auditor")
    if not state["values"]["password"]:
        return _write(state, "password", "{{secret:portal_password}}")
    return _click(state, "log_in")


def _going_to(state: dict[str, Any], reference: str) -> dict[str, Any]:
    match state["screen"]:
        case "menu":
            return _click(state, "transaction_search")
        case "search" if state["values"]["reference"] != reference:
            return _write(state, "reference", reference)
        case "search":
            return _click(state, "search")
        case "saved":
            return _click(state, "ok")
        case "flag":
            return _click(state, "cancel")
        case _:
            return _click(state, "back")


def _reading(state: dict[str, Any], reference: str) -> dict[str, Any]:
    shown = state["values"]
    if state["screen"] != "detail" or shown["Reference"] != reference:
        return _going_to(state, reference)
    record = {name.lower(): shown[name] for name in ("Reference", "Merchant", "Date", "Currency", "Status")}
    amount = str(Decimal(shown["Amount"].replace(",", "")))
    flags = int(re.findall(r"\d+", shown["flags"])[0])
    return step("answer", content=json.dumps({"found": True, **record, "amount": amount, "flags": flags}))


def _filing(state: dict[str, Any], data: dict[str, Any], *, saved: bool) -> dict[str, Any]:
    shown = state["values"]
    reference, reason, note = data["reference"], data["reason"], data["note"]
    if state["screen"] == "saved" and saved:
        return step("answer", content=json.dumps({"flag": int(shown["flag_id"])}))
    if state["screen"] == "detail" and shown["Reference"] == reference:
        return _click(state, "flag")
    if state["screen"] != "flag":
        return _going_to(state, reference)
    if saved:
        return step("wait", seconds=0.2)
    if shown["reason"] != reason:
        return _click(state, f"reason:{reason}")
    if shown["note"] != note:
        return _write(state, "note", note)
    return _click(state, "save")


def _click(state: dict[str, Any], part: str) -> dict[str, Any]:
    return step("click", element=f"{state['screen']}: {part}", **_middle(state, part))


def _write(state: dict[str, Any], part: str, text: str) -> dict[str, Any]:
    if state["focus"] != part:
        return _click(state, part)
    return step("write", content=text, overwrite=True)


def _middle(state: dict[str, Any], part: str) -> dict[str, int]:
    left, top, width, height = state["widgets"][part]
    return {"x": round((left + width / 2) * 1000 / WIDTH), "y": round((top + height / 2) * 1000 / HEIGHT)}
