"""A minimal client that follows the whole contract: the reference for the server and the rules."""

from __future__ import annotations

import http.client
import json
import re
import time
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from holo_tasks.contract.rulebook import Terms
from holo_tasks.contract.wire_messages import json_object
from tests.support.handmade import FLAT, TOOLS, Talk, Turn, made

TRIES = 4
KEPT_TURNS = 3


class Passing(Exception):
    """A transient fault: the same request may be sent again."""


class Hopeless(Exception):
    """A permanent fault: sending the request again cannot help."""


class Unusable(Exception):
    """A reply that is not a step."""


@dataclass
class Line:
    """One connection to a server, reopened after it was lost."""

    base_url: str
    key: str | None = None
    patience_s: float = 20

    def __post_init__(self) -> None:
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: Any, path: str = "/chat/completions", **headers: str) -> tuple[int, Any]:
        """Send a JSON value or raw bytes; return the status and the parsed answer."""
        where = urlsplit(self.base_url)
        if self._connection is None:
            assert where.hostname is not None
            self._connection = http.client.HTTPConnection(where.hostname, where.port, timeout=self.patience_s)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json", **headers}
        if self.key:
            sent["authorization"] = f"Bearer {self.key}"
        try:
            self._connection.request("POST", f"{where.path}{path}", data, sent)
            answer = self._connection.getresponse()
            raw = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise Passing from None
        if answer.status in (429, 500, 503):
            time.sleep(min(0.05, float(answer.headers.get("retry-after", 0))))
            raise Passing
        if answer.status == 401:
            raise Hopeless
        try:
            return answer.status, json.loads(raw)
        except ValueError:
            raise Passing from None

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None


def play(
    base_url: str, terms: Terms, talk: Talk, *, questions: int = 3, context: int = 99, patience_s: float = 20
) -> str:
    """Hold a whole conversation and return how it ended. Old turns that do not fit the context are left out."""
    line = Line(base_url, terms.key, patience_s)
    while True:
        if len(talk.turns) - talk.left_out > context:
            talk = replace(talk, left_out=len(talk.turns) - KEPT_TURNS)
        try:
            completion = _sent(line, made(terms.dialect, talk))
            turn = read(completion, terms)
        except Unusable as error:
            if talk.correction:
                return "two replies that could not be used"
            talk = replace(talk, correction=str(error))
            continue
        except Hopeless:
            return "refused"
        talk = replace(talk, correction="", turns=(*talk.turns, turn))
        if terms.dialect == "localize":
            talk = replace(talk, left_out=talk.left_out + 1)
        if turn.call.get("tool_name") == "answer" or turn.call.get("action") == "answer":
            return str(turn.call.get("content") or turn.call.get("text"))
        if terms.dialect == "localize" and len(talk.turns) == questions:
            return "all questions answered"


def _sent(line: Line, body: Any) -> Any:
    for _ in range(TRIES):
        try:
            status, payload = line.post(body)
        except Passing:
            continue
        assert status == 200, payload
        return payload
    raise AssertionError("the server does not answer")


def read(completion: Any, terms: Terms) -> Turn:
    """Parse a reply. Raises `Unusable` if it is not a step."""
    if not completion["choices"]:
        raise Unusable("no reply")
    choice = completion["choices"][0]
    message = choice["message"]
    if choice["finish_reason"] == "length":
        raise Unusable("cut off")
    thinking = message.get("reasoning_content") or message.get("reasoning") or ""
    kept = thinking if terms.preserve_thinking else ""
    said = re.sub(r"\A<think>.*?</think>", "", message["content"] or "", flags=re.DOTALL).strip()
    if terms.dialect == "tools":
        calls = message.get("tool_calls") or []
        if not calls:
            raise Unusable("no call")
        written = calls[0]["function"]["arguments"]
        arguments = _object(written if isinstance(written, str) else json.dumps(written))
        call = _checked({"tool_name": calls[0]["function"]["name"], **arguments})
        return Turn(call, note=said or None, id=calls[0]["id"], reasoning=kept)
    value = _object(re.sub(r"\A```json\n(.*)\n```\Z", r"\1", said, flags=re.DOTALL))
    if terms.dialect == "structured":
        if set(value) != {"note", "thought", "tool_call"}:
            raise Unusable("no step")
        return Turn(_checked(value["tool_call"]), note=value["note"], thought=value["thought"])
    if terms.dialect == "holotron":
        if set(value) != set(FLAT) or value["action"] not in FLAT["action"]["enum"] or value["confidence"] < 0.6:
            raise Unusable("no action")
        _within(value, 1, (int, float))
    elif set(value) != {"x", "y"}:
        raise Unusable("no point")
    else:
        _within(value, 1000, (int,))
    return Turn(value, thought=value.get("reasoning", ""))


def _object(text: str) -> dict[str, Any]:
    value = json_object(text)
    if value is None or not json.dumps(value, ensure_ascii=False).encode(errors="ignore").decode() == json.dumps(
        value, ensure_ascii=False
    ):
        raise Unusable("not one JSON object")
    return value


def _checked(call: dict[str, Any]) -> dict[str, Any]:
    rules = TOOLS.get(str(call["tool_name"]).removesuffix("_desktop"))
    if rules is None or not set(call) - {"tool_name"} <= set(rules):
        raise Unusable("no such tool, or no such argument")
    _within(call, 1000, (int,))
    return {**{name: rule["default"] for name, rule in rules.items() if "default" in rule}, **call}


def _within(values: dict[str, Any], most: int, kinds: tuple[type, ...]) -> None:
    for name in ("x", "y"):
        if name in values and not (isinstance(values[name], kinds) and 0 <= values[name] <= most):
            raise Unusable(f"{name} is out of range")
