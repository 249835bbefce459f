"""Declarations that an automation engineer would make for the cashbook, so that no model can do harm in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from benchmarks.nasty.filed import Filed
from holo_tasks import (
    NOT_DONE,
    Answer,
    Effect,
    Interruption,
    NotDone,
    Screens,
    Script,
    State,
    SubgoalOptions,
    Text,
    Way,
    hand_over,
    pursue,
    recover_to,
    subgoal,
)
from holo_tasks.scripts.hands import Hands
from holo_tasks.vision.screen_text import plain


async def keep_editing(hands: Hands) -> None:
    await hands.click("Keep editing")


async def close_tip(hands: Hands) -> None:
    await hands.click("Close", below="TIP OF THE DAY")


async def sign_on(hands: Hands) -> None:
    await hands.click(field="User")
    await hands.write("clerk", overwrite=True)
    await hands.click(field="Password")
    await hands.write("{{secret:cashbook}}", overwrite=True)
    await hands.click("Log in")


async def new_entry(hands: Hands) -> None:
    await hands.click("New entry", safe=True)


async def cancel(hands: Hands) -> None:
    await hands.click("Cancel")


async def close(hands: Hands) -> None:
    await hands.click("Close")


async def back_to_menu(hands: Hands) -> None:
    await hands.click("Back to menu")


async def list_filed(hands: Hands) -> str:
    return str(await hands.read(line=r"Filed today: ?(.*)"))


async def ask_a_person() -> Answer:
    return await hand_over("The cashbook asks for the word that is hidden in a picture.", timeout_seconds=3)


FILED = ("filed", "filed, a copy", "filed, the next one")
NOT_SAVED = Interruption(State("entry not saved", Text("ENTRY NOT SAVED")), Script(keep_editing))
SCREENS = Screens(
    states=[
        State("menu", Text("MAIN MENU")),
        State("form", Text("NEW ENTRY")),
        State("filed", Text("ENTRY FILED")),
        State("filed, a copy", Text("ENTRY FILED - COPY FOR A SECOND ENTRY")),
        State("filed, the next one", Text("ENTRY FILED - NEXT ENTRY")),
        State("waiting", Text("PLEASE WAIT"), busy=True),
    ],
    interruptions=[
        NOT_SAVED,
        Interruption(State("tip of the day", Text("TIP OF THE DAY")), Script(close_tip)),
        Interruption(State("signed off", Text("* - SIGN ON")), Script(sign_on)),
        Interruption(State("security check", Text("SECURITY CHECK*")), ask_a_person),
    ],
    ways=[
        Way(Script(new_entry), to="form", start="menu"),
        Way(Script(cancel), to="menu", start="form"),
        Way(Script(back_to_menu), to="menu", start="filed"),
        Way(Script(close), to="menu", start="filed, a copy"),
        Way(Script(close), to="menu", start="filed, the next one"),
    ],
    home="menu",
)


async def look_whether_filed(reference: str, goal: str, key: str) -> Filed | NotDone | None:
    """Check the program itself: its menu lists the entries filed today."""
    await recover_to("menu", screens=SCREENS)
    listed = await pursue(
        "Read what is listed as filed today.", options=SubgoalOptions(screens=SCREENS, layers=Script(list_filed))
    )
    if plain(reference) in plain(listed):
        return Filed(filed=True)
    return NOT_DONE if plain(listed) == "none" else None


def filing(screens: Screens, *, confirm: bool = False) -> Callable[[str, str, str], Awaitable[Filed]]:
    """Return a sub-goal in which the model files an entry and every mistake is caught.

    ``confirm`` also looks for the entry after each answer.
    """

    @subgoal(
        title="File {reference}",
        key="{key}",
        effect=Effect(
            probe=look_whether_filed, press_once=("Submit", "Save"), retry_click="New entry", confirm=confirm
        ),
        screens=screens.route(begins="menu", ends=FILED),
    )
    async def file_carefully(reference: str, goal: str, key: str) -> Filed:
        answer: Filed = await pursue(goal, returns=Filed)
        return answer

    return file_carefully
