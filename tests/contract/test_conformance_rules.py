"""Each rule of the contract fires: the server answers 400 with the rule's id to a request that breaks the rule."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from holo_tasks.contract import continuity, limits
from holo_tasks.contract.all_rules import BOOKS
from holo_tasks.contract.rulebook import Dialect, Terms
from tests.support import contract_wire, turn_taking
from tests.support.broken_requests import ROWS, Row
from tests.support.broken_turns import PAIRS, Pair
from tests.support.conformance import ConformanceServer, Faults
from tests.support.good_client import Hopeless, Line, Passing, Unusable, read
from tests.support.handmade import TERMS, Talk, made, turns

SCRIPT: list[dict[str, Any]] = [
    *({"tool": "click", "element": f"Button {n}", "x": n, "y": 250} for n in range(9)),
    {"tool": "answer", "content": "done"},
]
POINTS = [{"x": 1, "y": 2}]


@dataclass
class Asked:
    """The result of one request."""

    status: int = 0
    payload: Any = None
    rules: set[str] = field(default_factory=set)


@contextmanager
def failing(rule: str, terms: Terms, faults: Faults | None = None) -> Iterator[ConformanceServer]:
    """Run a server and expect its test to fail with this rule."""
    script = POINTS if terms.dialect == "localize" else SCRIPT
    with (
        pytest.raises(AssertionError, match=f"The contract was broken.*{rule}: "),
        ConformanceServer(script, terms, faults) as server,
    ):
        yield server


def refused(answered: tuple[int, Any]) -> set[str]:
    """Return the ids of the rules that an answer names."""
    status, payload = answered
    assert status == 400
    named = re.findall(r"\b([STHLWC]\d\d): ", payload["error"]["message"])
    assert payload["error"]["code"] == named[0]
    return set(named)


@pytest.mark.parametrize("row", ROWS, ids=[f"{n}-{row.rule}" for n, row in enumerate(ROWS)])
def test_a_request_that_breaks_a_rule_is_refused_by_its_id(row: Row) -> None:
    with failing(row.rule, row.held_to) as server:
        named = refused(Line(server.base_url).post(row.request()))
        assert named == {row.rule, *row.also.split()}
        assert [breach.rule.id for breach in server.breaches] == sorted(named, key=lambda id_: (id_[0] == "W", id_))


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{n}-{pair.rule}-{pair.dialect}" for n, pair in enumerate(PAIRS)])
def test_a_request_that_contradicts_the_conversation_is_refused_by_its_rule(pair: Pair) -> None:
    terms, talk = pair.held_to, pair.start
    with failing(pair.rule, terms, pair.faults) as server:
        line = Line(server.base_url, patience_s=0.5 if "hung" in str(pair.faults) else 20)
        for _ in range(pair.good + pair.met):
            try:
                status, completion = line.post(made(pair.dialect, talk))
                assert status == 200
                talk = replace(talk, turns=(*talk.turns, read(completion, terms)), correction="")
            except Unusable:
                talk = replace(talk, correction="That was wrong.")
            except (Passing, Hopeless):
                break
            if pair.dialect == "localize" and not talk.correction:
                talk = replace(talk, left_out=talk.left_out + 1)
        if not pair.met:
            talk = replace(talk, correction="")
        assert server.breaches == []
        assert refused(line.post(pair.then(talk))) == {pair.rule, *pair.also.split()}


GOOD = json.dumps(made("structured", Talk(turns(2)))).encode()
NAN = GOOD.replace(b'"temperature": 0.8', b'"temperature": NaN')
TWICE = GOOD.replace(b'"temperature": 0.8', b'"temperature": 0.8, "temperature": 0.8')
JSON = {"content-type": "application/json"}
WITH_KEY = Terms(key="open sesame")
ON_THE_WIRE: list[tuple[str, str, str, dict[str, str], bytes, Terms, set[str]]] = [
    ("W01", "POST", "/v1/completions", JSON, GOOD, Terms(), set()),
    ("W01", "POST", "/chat/completions", JSON, GOOD, Terms(), set()),
    ("W01", "PUT", "/v1/chat/completions", JSON, GOOD, Terms(), set()),
    ("W01", "GET", "/v1/chat/completions", JSON, GOOD, Terms(), set()),
    ("W02", "POST", "/v1/chat/completions", {}, GOOD, Terms(), set()),
    ("W02", "POST", "/v1/chat/completions", {"content-type": "text/plain"}, GOOD, Terms(), set()),
    ("W03", "POST", "/v1/chat/completions", JSON, GOOD[:-1], Terms(), set()),
    ("W03", "POST", "/v1/chat/completions", JSON, b"[]", Terms(), set()),
    ("W03", "POST", "/v1/chat/completions", JSON, GOOD.replace(b"Save", b"S\xe4ve"), Terms(), set()),
    ("W04", "POST", "/v1/chat/completions", JSON, TWICE, Terms(), set()),
    ("W05", "POST", "/v1/chat/completions", JSON, NAN, Terms(), set()),
    ("W06", "POST", "/v1/chat/completions", {**JSON, "authorization": "Bearer none"}, GOOD, Terms(), set()),
    ("W06", "POST", "/v1/chat/completions", JSON, GOOD, WITH_KEY, set()),
    ("W06", "POST", "/v1/chat/completions", {**JSON, "authorization": "open sesame"}, GOOD, WITH_KEY, set()),
    ("W06", "GET", "/v1/models", {}, b"", WITH_KEY, set()),
    ("W07", "POST", "/v1/chat/completions", {**JSON, "cookie": "a=b"}, GOOD, Terms(), set()),
]


@pytest.mark.parametrize(
    ("rule", "method", "path", "headers", "raw", "terms", "also"),
    ON_THE_WIRE,
    ids=[f"{n}-{row[0]}" for n, row in enumerate(ON_THE_WIRE)],
)
def test_a_request_that_is_wrong_as_http_is_refused(
    rule: str, method: str, path: str, headers: dict[str, str], raw: bytes, terms: Terms, also: set[str]
) -> None:
    with failing(rule, terms) as server:
        where = urlsplit(server.base_url)
        connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=5)
        connection.request(method, path, raw, headers)
        answer = connection.getresponse()
        assert refused((answer.status, json.load(answer))) == {rule} | also
        connection.close()


def test_every_rule_is_shown_to_fire() -> None:
    shown = {row.rule for row in ROWS} | {pair.rule for pair in PAIRS} | {row[0] for row in ON_THE_WIRE}
    books = (contract_wire.BOOK, *BOOKS.values(), limits.BOOK)
    rules = [*(rule for book in books for rule in book.rules), *continuity.RULES, *turn_taking.RULES]
    ids = [rule.id for rule in rules]
    assert sorted(shown) == sorted(ids)
    assert len(set(ids)) == len(ids) >= 60
    assert all(rule.sentence for rule in rules)


@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("dialect", TERMS)
def test_a_valid_request_is_accepted(dialect: Dialect, steps: int) -> None:
    talks = [
        Talk(turns(steps)),
        Talk(turns(steps), correction="That was wrong."),
        Talk(turns(steps), final=True),
        Talk(turns(steps), images=1),
        Talk(turns(steps), strips=frozenset({0, steps})),
        Talk(turns(steps), left_out=min(2, steps)),
    ]
    for talk in talks:
        script = POINTS if dialect == "localize" else SCRIPT
        with ConformanceServer(script, TERMS[dialect]) as server:
            assert Line(server.base_url).post(made(dialect, talk))[0] == 200


@pytest.mark.parametrize("transport", ["structured_outputs", "response_format", "json_object"])
@pytest.mark.parametrize("dialect", ["structured", "holotron", "localize"])
def test_a_schema_is_accepted_in_the_agreed_field(dialect: Dialect, transport: Any) -> None:
    terms = replace(TERMS[dialect], transport=transport)
    body = made(dialect, Talk(turns(2)))
    keys = ("element_type", "action", "x", "y", "text", "confidence", "reasoning")
    flat = {"type": "object", "properties": {key: {} for key in keys}, "additionalProperties": False}
    schema = body.pop("structured_outputs", {"json": flat})["json"]
    named = {"type": "json_schema", "json_schema": {"name": "step", "schema": schema}}
    body.pop("response_format", None)
    body |= {
        "structured_outputs": {"structured_outputs": {"json": schema}},
        "response_format": {"response_format": named},
        "json_object": {"response_format": {"type": "json_object"}},
    }[transport]
    with ConformanceServer(POINTS if dialect == "localize" else SCRIPT, terms) as server:
        assert Line(server.base_url).post(body)[0] == 200


def test_a_question_for_a_state_may_enable_thinking() -> None:
    state = {"type": "object", "properties": {"state": {"type": "string"}}, "additionalProperties": False}
    more = {
        "structured_outputs": {"json": state},
        "chat_template_kwargs": {"enable_thinking": True},
        "temperature": 0.8,
        "reasoning_effort": "medium",
    }
    with ConformanceServer([{"state": "saved"}], TERMS["localize"]) as server:
        status, completion = Line(server.base_url).post(made("localize", Talk(more=more)))
    assert status == 200
    assert completion["choices"][0]["message"]["content"] == '{"state": "saved"}'


def test_the_models_are_listed() -> None:
    with ConformanceServer(SCRIPT) as server:
        where = urlsplit(server.base_url)
        connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=5)
        connection.request("GET", "/v1/models")
        assert json.load(connection.getresponse())["data"][0]["id"]
        connection.close()
