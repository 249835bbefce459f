"""Faults that servers and models really show. Each can be injected once, with the expected reaction of a client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from holo_tasks.contract.rulebook import Dialect
from tests.support.replies import Draft, function
from tests.support.turn_taking import Sequel

DIALECTS: tuple[Dialect, ...] = ("structured", "tools", "holotron", "localize")
WRITTEN: tuple[Dialect, ...] = ("structured", "holotron", "localize")
"""The dialects whose reply is a JSON object in the content."""
PAGE = b"<!doctype html><title>Bad gateway</title><h1>It is not you, it is us.</h1>"

Spoil = Callable[[Draft], None]


@dataclass(frozen=True)
class Fault:
    """One fault.

    ``sequel`` is the expected reaction: none ("tolerated"), one more request with a correction, the same request again,
    or no further request. ``sequels`` adds the other correct reactions if a client may interpret the fault in two ways.
    """

    name: str
    dialect: Dialect
    sequels: tuple[Sequel, ...]
    spoil: Spoil

    @property
    def sequel(self) -> Sequel:
        return self.sequels[0]


ALL_FAULTS: dict[Dialect, dict[str, Fault]] = {dialect: {} for dialect in DIALECTS}
"""Every fault by dialect and name."""


def _fault(name: str, *sequels: Sequel, dialects: tuple[Dialect, ...] = DIALECTS) -> Callable[[Spoil], Spoil]:
    def register(spoil: Spoil) -> Spoil:
        for dialect in dialects:
            ALL_FAULTS[dialect][name] = Fault(name, dialect, sequels, spoil)
        return spoil

    return register


# Faults in the model's text


@_fault("fenced", "tolerated", dialects=WRITTEN)
def _fenced(draft: Draft) -> None:
    draft.text = f"```json\n{draft.written}\n```"


@_fault("think_leak", "tolerated")
def _think_leak(draft: Draft) -> None:
    thought = f"<think>{' '.join(draft.reasoning.values())}</think>\n"
    if draft.terms.dialect == "tools":
        draft.beside = thought + (draft.beside or "")
    else:
        draft.text = thought + draft.written


@_fault("reasoning_under_either_name", "tolerated")
def _both_names(draft: Draft) -> None:
    thought = " ".join(draft.reasoning.values())
    draft.reasoning = {"reasoning": f"{thought} (one)", "reasoning_content": f"{thought} (two)"}


@_fault("prose", "corrected")
def _prose(draft: Draft) -> None:
    draft.say("I will now click the Save button in the lower right corner.")


@_fault("empty", "corrected")
def _empty(draft: Draft) -> None:
    draft.say("")


@_fault("null", "corrected")
def _null(draft: Draft) -> None:
    draft.say(None)


@_fault("length", "corrected")
def _length(draft: Draft) -> None:
    draft.say("")
    draft.finish_reason = "length"


@_fault("length_cut", "corrected")
def _length_cut(draft: Draft) -> None:
    draft.text = draft.written[: len(draft.written) // 2]
    draft.finish_reason = "length"


def _coordinate(thousandths: object, unit: object) -> Spoil:
    def spoil(draft: Draft) -> None:
        draft.call["x"] = unit if draft.terms.dialect == "holotron" else thousandths

    return spoil


_fault("ranges", "corrected")(_coordinate([490, 510], [0.49, 0.51]))
_fault("x1001", "corrected")(_coordinate(1001, 1.001))
_fault("x_minus_1", "corrected")(_coordinate(-1, -0.001))
_fault("x_1e9", "corrected")(_coordinate(10**9, 10**9))
_fault("x_string", "corrected")(_coordinate("5", "0.5"))
_fault("nan", "corrected")(_coordinate(float("nan"), float("nan")))


@_fault("two_calls", "tolerated", dialects=("tools",))
def _two_calls(draft: Draft) -> None:
    other = json.dumps({"content": "the second call"})
    draft.more_calls.append(function(f"call_{draft.number}_b", "answer", other))


@_fault("two_calls", "corrected", dialects=WRITTEN)
def _two_objects(draft: Draft) -> None:
    draft.text = f"{draft.written}\n{draft.written}"


@_fault("unknown_tool", "corrected", dialects=("structured", "tools", "holotron"))
def _unknown_tool(draft: Draft) -> None:
    match draft.terms.dialect:
        case "structured":
            draft.call["tool_name"] = "teleport"
        case "tools":
            draft.tool = "teleport"
        case _:
            draft.call["action"] = "teleport"


@_fault("duplicate_keys", "corrected")
def _duplicate_keys(draft: Draft) -> None:
    key, value = next(iter(draft.values.items()))
    draft.text = f"{{{json.dumps(key)}: {json.dumps(value)}, {draft.written[1:]}"


@_fault("extra_keys", "corrected")
def _extra_keys(draft: Draft) -> None:
    draft.values["mood"] = "good"


@_fault("surrogate", "corrected", dialects=("structured", "tools", "holotron"))
def _surrogate(draft: Draft) -> None:
    key = {"structured": "thought", "holotron": "reasoning"}.get(draft.terms.dialect, "")
    draft.values[key or next((k for k, v in draft.values.items() if isinstance(v, str)), "element")] = "Half: \ud83d"


@_fault("bad_arguments", "corrected", dialects=("tools",))
def _bad_arguments(draft: Draft) -> None:
    draft.text = "element=Save, x=500, y=250"


@_fault("arguments_object", "tolerated", "corrected", dialects=("tools",))
def _arguments_object(draft: Draft) -> None:
    draft.arguments_as_object = True


@_fault("low_confidence", "corrected", dialects=("holotron",))
def _low_confidence(draft: Draft) -> None:
    draft.values["confidence"] = 0.4


# Fields that the server adds or omits


@_fault("null_usage", "tolerated")
def _null_usage(draft: Draft) -> None:
    draft.usage = None


@_fault("missing_usage", "tolerated")
def _missing_usage(draft: Draft) -> None:
    draft.no_usage = True


@_fault("null_details", "tolerated")
def _null_details(draft: Draft) -> None:
    assert draft.usage is not None
    draft.usage["prompt_tokens_details"] = None


@_fault("no_choices", "corrected", "retried")
def _no_choices(draft: Draft) -> None:
    draft.no_choices = True


# Faults in transport


def _status(status: int, **headers: str) -> Spoil:
    def spoil(draft: Draft) -> None:
        error: dict[str, Any] = {"message": "not now", "type": "server_error", "param": None, "code": None}
        draft.status, draft.raw = status, json.dumps({"error": error}).encode()
        draft.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    return spoil


_fault("status429", "retried")(_status(429, Retry_After="0.2"))
_fault("status429_whole", "retried")(_status(429, Retry_After="1"))
_fault("status500", "retried")(_status(500))
_fault("status503", "retried")(_status(503))


@_fault("dropped", "retried")
def _dropped(draft: Draft) -> None:
    draft.cut = "half-way"


@_fault("dropped_before_headers", "retried")
def _dropped_before_headers(draft: Draft) -> None:
    draft.cut = "before the headers"


@_fault("hung", "retried")
def _hung(draft: Draft) -> None:
    draft.hangs = True


@_fault("html_200", "retried", "terminal")
def _html(draft: Draft) -> None:
    draft.raw, draft.headers = PAGE, {"content-type": "text/html; charset=utf-8"}


_fault("status401", "terminal")(_status(401))


@_fault("not_json", "retried", "terminal")
def _not_json(draft: Draft) -> None:
    draft.raw = b"upstream connect error or disconnect/reset before headers"


_BILLS = {"null_usage", "missing_usage", "null_details"}
_PASSING = {"status429", "status429_whole", "status500", "status503", "dropped", "dropped_before_headers", "hung"}
ALIKE_IN_ALL = _BILLS | _PASSING | {"no_choices", "html_200", "status401", "not_json"}
"""Fields next to a reply, or in its place, that no dialect defines."""


def cases(faults: Iterable[Fault]) -> list[Any]:
    """Return faults as test cases. Of faults that are alike in all dialects, all but the first dialect's are marked
    `long`.
    """
    return [
        pytest.param(
            fault,
            id=f"{fault.dialect}-{fault.name}",
            marks=[pytest.mark.long] if fault.name in ALIKE_IN_ALL and fault.dialect != DIALECTS[0] else [],
        )
        for fault in faults
    ]
