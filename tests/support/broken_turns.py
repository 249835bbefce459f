"""For every rule on consecutive requests: conversations that are valid until one request breaks the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from holo_tasks.contract.rulebook import Dialect, Terms
from tests.support.breakers import Breaker, change
from tests.support.conformance import CANARY, Faults
from tests.support.handmade import TERMS, Body, Talk, Turn, made, picture, turns

NEW = Talk()


@dataclass(frozen=True)
class Pair:
    """A rule, and a request that breaks it after ``good`` valid turns of a conversation.

    ``then`` makes the request from the talk with which a good client would continue. ``faults`` are injected in the
    last of the valid turns. A good client sends ``met`` more requests because of the faults.
    """

    rule: str
    dialect: Dialect
    then: Callable[[Talk], Body]
    good: int = 1
    faults: Faults | None = None
    met: int = 0
    also: str = ""
    start: Talk = NEW
    terms: Terms | None = None

    @property
    def held_to(self) -> Terms:
        return self.terms or TERMS[self.dialect]


def spoiled(dialect: Dialect, *breakers: Breaker, **changes: object) -> Callable[[Talk], Body]:
    """Continue as a good client would, except for the given changes to the conversation or the request."""

    def then(talk: Talk) -> Body:
        body = made(dialect, replace(talk, **changes))  # type: ignore[arg-type]
        for breaker in breakers:
            breaker(body)
        return body

    return then


def retold(dialect: Dialect, place: int, **changes: object) -> Callable[[Talk], Body]:
    """Change the record of one earlier turn."""

    def then(talk: Talk) -> Body:
        told: list[Turn] = list(talk.turns)
        told[place] = replace(told[place], **changes)  # type: ignore[arg-type]
        return made(dialect, replace(talk, turns=tuple(told)))

    return then


def earlier(dialect: Dialect, **changes: object) -> Callable[[Talk], Body]:
    """Send the previous request again with the given changes."""
    return lambda talk: spoiled(dialect, **changes)(replace(talk, turns=talk.turns[:-1]))


def invented(dialect: Dialect) -> Callable[[Talk], Body]:
    """Correct a reply, and add a turn that never happened."""
    return lambda talk: made(dialect, replace(talk, turns=(*talk.turns, turns(1)[0]), correction="That was wrong."))


def add_to_system(body: Body) -> None:
    body["messages"][0]["content"] += " "


def seen_anew(body: Body) -> Body:
    body["messages"][-1]["content"][0] = picture(9)
    return body


OTHER = {"tool_name": "click", "element": "Elsewhere", "x": 7, "y": 7, "button": "left"}
UNSENT = {"reasoning_effort": "low"}
KEEPING = replace(TERMS["tools"], preserve_thinking=True)
KEPT = Talk(more={"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}})
SAVE = "Save the file."
SAID_SO = f"{SAVE}\n\nEarlier steps left out: 1."

PAIRS = [
    *(Pair("C01", dialect, spoiled(dialect, add_to_system)) for dialect in ("structured", "tools", "holotron")),
    Pair("C02", "tools", spoiled("tools", change("tools.2", ...))),
    Pair("C02", "structured", spoiled("structured", suffix="_desktop"), also="C01"),
    *(Pair("C03", dialect, retold(dialect, 0, told="Something else."), good=2) for dialect in ("structured", "tools")),
    Pair("C03", "structured", retold("structured", 0, thought="Something else."), good=2),
    Pair("C03", "tools", retold("tools", 0, note="Something else."), good=2),
    Pair("C03", "structured", lambda talk: made("structured", replace(talk, turns=talk.turns[1:])), good=3),
    Pair("C03", "structured", spoiled("structured", change("messages.2.content.1", picture(9))), good=2),
    # A request may leave out old turns only if the task message says so, and may say so only if it does.
    Pair("C03", "structured", spoiled("structured", change("messages.1.content", SAVE), left_out=1), good=3),
    Pair("C03", "structured", spoiled("structured", change("messages.1.content", SAID_SO)), good=3),
    Pair("C03", "tools", spoiled("tools", change("messages.4.content", "Well."), left_out=1), good=4),
    Pair("C03", "tools", spoiled("tools", change("messages.1.content", SAID_SO), left_out=4), good=4),
    Pair("C03", "holotron", retold("holotron", 0, thought="Something else."), good=2),
    Pair("C04", "structured", spoiled("structured", images=3), good=4, start=Talk(images=1)),
    Pair("C04", "tools", spoiled("tools", images=3), good=4, start=Talk(images=1)),
    Pair("C04", "structured", spoiled("structured", images=3), good=2, start=Talk(images=1, strips=frozenset({1}))),
    Pair("C05", "structured", retold("structured", -1, thought="Something else.")),
    Pair("C05", "structured", retold("structured", -1, note="A note of my own.")),
    Pair("C05", "structured", retold("structured", -1, call=OTHER)),
    Pair("C05", "tools", retold("tools", -1, call=OTHER)),
    Pair("C05", "tools", retold("tools", -1, id="call_of_mine")),
    Pair("C05", "tools", retold("tools", -1, id="call_0_b"), faults={0: "two_calls"}),
    Pair("C05", "tools", retold("tools", -1, note="A note of my own.")),
    *(Pair("C05", dialect, earlier(dialect, more=UNSENT)) for dialect in ("structured", "tools")),
    Pair("C05", "holotron", lambda talk: seen_anew(made("holotron", replace(talk, turns=())))),
    *(Pair("C06", dialect, spoiled(dialect, change("model", "other"))) for dialect in TERMS),
    Pair("C06", "structured", spoiled("structured", change("temperature", 0.5)), terms=Terms(temperature=None)),
    Pair("C07", "tools", retold("tools", -1, reasoning="Thinking of my own."), start=KEPT, terms=KEEPING),
    *(
        Pair("C10", dialect, spoiled(dialect, correction="That was wrong."))
        for dialect in ("structured", "tools", "holotron")
    ),
    *(Pair("C11", dialect, spoiled(dialect), faults={0: "prose"}) for dialect in TERMS),
    *(Pair("C11", dialect, spoiled(dialect, more=UNSENT), faults={0: "empty"}) for dialect in ("structured", "tools")),
    *(Pair("C12", dialect, earlier(dialect)) for dialect in ("structured", "tools", "holotron")),
    Pair("C12", "localize", lambda talk: made("localize", replace(talk, left_out=0))),
    Pair("C12", "structured", spoiled("structured", correction="What?"), good=2, faults={1: "status401"}),
    *(Pair("C13", dialect, spoiled(dialect, correction="What?"), faults={0: "status500"}) for dialect in TERMS),
    Pair("C13", "structured", invented("structured"), faults={0: "hung"}),
    *(Pair("C14", dialect, invented(dialect), faults={0: "prose"}) for dialect in ("structured", "tools", "holotron")),
    *(
        Pair("C15", dialect, spoiled(dialect, correction="Wrong again."), faults={0: ["prose", "empty"] * 2}, met=3)
        for dialect in ("structured", "tools", "holotron")
    ),
    *(Pair("C16", dialect, retold(dialect, -1, told=f"I thought: {CANARY}-0")) for dialect in ("structured", "tools")),
    Pair("C16", "tools", retold("tools", -1, note=f"I thought: {CANARY}-0"), also="C05"),
    Pair("C16", "holotron", spoiled("holotron", correction=f"{CANARY}-0 is wrong."), faults={0: "prose"}),
    Pair("C16", "localize", spoiled("localize", correction=f"{CANARY}-0 is wrong."), faults={0: "prose"}),
]
