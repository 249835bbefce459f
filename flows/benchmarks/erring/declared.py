"""The two arms of the library: nothing declared, and the declarations of an automation engineer."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path

from pydantic import BaseModel

from benchmarks.nasty.careful import SCREENS as CASHBOOK
from benchmarks.nasty.careful import filing
from benchmarks.nasty.filed import Filed
from holo_tasks import (
    NOT_DONE,
    Effect,
    Interruption,
    NotDone,
    Screens,
    Script,
    State,
    SubgoalOptions,
    Text,
    Way,
    pursue,
    recover_to,
    subgoal,
)
from holo_tasks.run.subgoal_options import AS_AROUND
from holo_tasks.scripts.hands import Hands

file_declared = filing(CASHBOOK, confirm=True)


class FlagFiled(BaseModel):
    """The number of the flag; null if one with this reason was on file already."""

    flag: int | None
    already: bool = False


@subgoal(title="File {reference}, nothing declared")
async def file_plain(reference: str, goal: str, key: str) -> Filed:
    """File an entry as the model likes."""
    answer: Filed = await pursue(goal, returns=Filed, options=SubgoalOptions(secrets="cashbook"))
    return answer


@subgoal(title="Flag {reference}, nothing declared")
async def flag_plain(reference: str, reason: str, note: str, goal: str, key: str) -> FlagFiled:
    """File a flag as the model likes."""
    answer: FlagFiled = await pursue(goal, returns=FlagFiled, options=SubgoalOptions(secrets="portal_password"))
    return answer


async def close_tip(hands: Hands) -> None:
    await hands.click("Close", below="TIP OF THE DAY")


async def close_about(hands: Hands) -> None:
    await hands.click("Close", below="ABOUT THIS PROGRAM")


async def sign_on(hands: Hands) -> None:
    await hands.click(field="User")
    await hands.write("auditor", overwrite=True)
    await hands.click(field="Password")
    await hands.write("{{secret:portal_password}}", overwrite=True)
    await hands.click("Log in")


async def to_menu(hands: Hands) -> None:
    await hands.hotkey("F9", safe=True)


LEDGER = Screens(
    states=[
        State("menu", Text("MAIN MENU")),
        State("search", Text("TRANSACTION SEARCH")),
        State("no record", Text("NO RECORD FOUND")),
        State("record", Text("TRANSACTION DETAIL")),
        State("form", Text("FLAG FOR REVIEW")),
        State("saved", Text("FLAG SAVED")),
        State("working", Text("Working..."), busy=True),
    ],
    interruptions=[
        Interruption(State("tip of the day", Text("TIP OF THE DAY")), Script(close_tip)),
        Interruption(State("about the program", Text("ABOUT THIS PROGRAM")), Script(close_about)),
        Interruption(State("signed off", Text("MERIDIAN LEDGER - SIGN ON")), Script(sign_on)),
    ],
    ways=[Way(Script(to_menu), to="menu", start=start) for start in ("search", "no record", "record", "form", "saved")],
    home="menu",
)


def _reading(reference: str) -> Script:
    """Return the script that reads what flags a record has."""

    async def read_flags(hands: Hands) -> str:
        await hands.click("Transaction search")
        await hands.wait_for("search")
        await hands.click(field="Reference")
        await hands.write(reference, overwrite=True)
        await hands.click("Search")
        await hands.wait_for("record")
        return str(await hands.read(line=r"Flags on file: ?(.*)"))

    return Script(read_flags)


async def flag_on_file(reference: str, reason: str, note: str, goal: str, key: str) -> FlagFiled | NotDone | None:
    """Look in the program itself whether the flag is there: the record names the reasons of its flags."""
    await recover_to("menu", screens=LEDGER)
    options = SubgoalOptions(screens=LEDGER, layers=_reading(reference), secrets="portal_password")
    listed = await pursue("Read the flags of a record.", options=options)
    if reason.casefold() in listed.casefold():
        return FlagFiled(flag=None, already=True)
    return NOT_DONE if listed.strip().startswith("0") else None


@subgoal(
    title="Flag {reference}: {reason}",
    key="{key}",
    effect=Effect(probe=flag_on_file, press_once="Save flag", confirm=True),
    screens=LEDGER.route(begins="menu", ends="saved"),
)
async def flag_declared(reference: str, reason: str, note: str, goal: str, key: str) -> FlagFiled:
    """File a flag with states, `press_once` and a probe declared."""
    answer: FlagFiled = await pursue(goal, returns=FlagFiled, options=SubgoalOptions(secrets="portal_password"))
    return answer


@subgoal(title="A page, nothing declared")
async def page_plain(goal: str, key: str) -> str:
    """Work on a page as the model likes."""
    said: str = await pursue(goal)
    return said


@subgoal(title="A page", key="{key}")
async def page_declared(goal: str, key: str, button: str) -> str:
    """Work on a page where its button is declared. A page has no place in which to look for the effect: no probe."""
    said: str = await pursue(goal, options=SubgoalOptions(effect=Effect(press_once=button) if button else AS_AROUND))
    return said


@subgoal(title="A file or a letter, nothing declared")
async def file_plain_text(goal: str, key: str) -> str:
    """Work in an office program as the model likes."""
    said: str = await pursue(goal)
    return said


async def file_saved(goal: str, key: str, file: str, wanted: str) -> str | NotDone:
    """Read the saved file and compare it with the wanted text, value by value: a program may add quotes."""
    saved = await asyncio.to_thread(Path(file).read_text, encoding="utf-8")
    found, rows = (list(csv.reader(text.strip().splitlines())) for text in (saved, wanted))
    return "done" if found == rows else NOT_DONE


@subgoal(title="A file", key="{key}", effect=Effect(probe=file_saved, confirm=True))
async def save_declared(goal: str, key: str, file: str, wanted: str) -> str:
    """Save a file. To save it again changes nothing, so no button is declared."""
    said: str = await pursue(goal)
    return said


async def letter_sent(goal: str, key: str, sent: str, line: str) -> str | NotDone | None:
    """Look for the letter's line in the file of the program that sends letters."""
    if not await asyncio.to_thread(Path(sent).exists):
        return NOT_DONE
    return "done" if line in await asyncio.to_thread(Path(sent).read_text, errors="replace") else None


@subgoal(title="A letter", key="{key}", effect=Effect(probe=letter_sent, press_once="Send", confirm=True))
async def send_declared(goal: str, key: str, sent: str, line: str) -> str:
    """Send a letter with `press_once` and a probe declared."""
    said: str = await pursue(goal)
    return said
