"""Contract rules on the HTTP layer of a request, checked before its body is interpreted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holo_tasks.contract.rulebook import RuleBook, Terms

PATH = "/v1/chat/completions"
MODELS = "/v1/models"


@dataclass(frozen=True)
class Call:
    """A received HTTP request. The names of ``headers`` are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes = b""

    @property
    def lists_models(self) -> bool:
        """Return whether the request lists the models. Such a request needs no body."""
        return (self.method, self.path) == ("GET", MODELS)


BOOK: RuleBook[Call] = RuleBook()


@BOOK.rule("W01", f"a request is a POST to {PATH}")
def _address(call: Call, _: Terms) -> Iterator[str]:
    if (call.method, call.path) != ("POST", PATH) and not call.lists_models:
        yield f"{call.method} {call.path}"


@BOOK.rule("W02", "the content type is application/json")
def _content_type(call: Call, _: Terms) -> Iterator[str]:
    kind = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not call.lists_models:
        yield kind or "none"


@BOOK.rule("W03", "the body is one JSON object in UTF-8")
def _object(call: Call, _: Terms) -> Iterator[str]:
    if not call.lists_models and not isinstance(value := _read(call.raw), dict):
        yield "not JSON" if value is ... else type(value).__name__


@BOOK.rule("W04", "no key appears twice in an object of the body")
def _no_doubles(call: Call, _: Terms) -> Iterator[str]:
    doubled: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        doubled.extend(name for name in names if names.count(name) > 1)

    _read(call.raw, object_pairs_hook=look)
    yield from doubled


@BOOK.rule("W05", "the body holds no NaN and no Infinity")
def _no_constants(call: Call, _: Terms) -> Iterator[str]:
    found: list[str] = []
    _read(call.raw, parse_constant=found.append)
    yield from found


@BOOK.rule("W06", "the server's key comes as a bearer token, and no key goes to a server that wants none")
def _key(call: Call, terms: Terms) -> Iterator[str]:
    wanted = None if terms.key is None else f"Bearer {terms.key}"
    if call.headers.get("authorization") != wanted:
        yield "another key, or none" if terms.key else "there is an Authorization header"


@BOOK.rule("W07", "no cookies are sent")
def _no_cookies(call: Call, _: Terms) -> Iterator[str]:
    if "cookie" in call.headers:
        yield "there is a Cookie header"


def _read(raw: bytes, **hooks: Any) -> Any:
    """Parse JSON. Returns ``...`` for invalid JSON."""
    try:
        return json.loads(raw.decode("utf-8"), **hooks)
    except (ValueError, RecursionError):
        return ...
