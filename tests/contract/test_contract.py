"""The product's requests keep the structured-mode contract; `test_conformance_rules.py` breaks each of its rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holo_tasks.contract.all_rules import BOOKS, breaches_of
from holo_tasks.contract.continuity import continuity_breaches
from holo_tasks.contract.rulebook import Terms
from holo_tasks.contract.schema import FIELDS
from holo_tasks.contract.structured import breaches
from holo_tasks.contract.wire_messages import slim
from tests.support.handmade import TERMS, Talk, made, turns
from tests.support.turn_taking import Exchange, turn_breaches


@pytest.mark.parametrize("steps", range(8))
def test_requests_of_the_product_break_no_rule(steps: int, body: Any) -> None:
    assert breaches(body(steps)) == []
    assert breaches(body(steps, correction=True)) == []
    assert breaches(body(steps, final=True)) == []


def test_the_schema_may_travel_as_response_format(body: Any) -> None:
    request = body()
    schema = request.pop("structured_outputs")["json"]
    request["response_format"] = {"type": "json_schema", "json_schema": {"name": "step", "schema": schema}}
    assert breaches(request, Terms(transport="response_format")) == []
    assert "S04" in [breach.rule.id for breach in breaches(request)]


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"model": 5, "messages": "hello"},
        {"messages": [None, 3, {"role": "user"}, {"role": "assistant", "content": None}]},
        {"messages": [{"role": "user", "content": [None, {"type": "image_url", "image_url": 3}]}]},
        {"structured_outputs": {"json": {"properties": [], "required": {}, "$defs": 3}}},
        {"structured_outputs": {"json": {"properties": {"tool_call": {"anyOf": 3}}}}},
        {"structured_outputs": {"json": {"properties": {"tool_call": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}}},
        {"structured_outputs": [], "chat_template_kwargs": 3, "response_format": "text"},
    ],
)
def test_nonsense_is_refused_without_an_exception(nonsense: dict[str, Any]) -> None:
    for dialect in BOOKS:
        for transport in FIELDS:
            assert breaches_of(nonsense, Terms(dialect=dialect, transport=transport))


JUNK: list[Any] = [None, True, -1, 1e9, "", "x", [], [None], [[]], {}, {"": None}, {"type": "text"}, "<observation>\n"]


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_request_raises_no_exception(data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(sorted(TERMS)))
    before, now = (made(dialect, Talk(turns(steps), strips=frozenset({1}))) for steps in (2, 3))
    node: Any = now
    while True:
        keys = list(range(len(node))) if isinstance(node, list) else sorted(node)
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(node[key], dict | list) and node[key]) or data.draw(st.integers(0, 5)) == 0:
            break
        node = node[key]
    node[key] = data.draw(st.sampled_from(JUNK))
    terms = replace(TERMS[dialect], preserve_thinking=data.draw(st.booleans()))
    breaches_of(now, terms)
    reply = data.draw(st.sampled_from([None, {}, {"tool_calls": [None]}, {"tool_call": {}}]))
    for sequels in (("tolerated",), ("corrected",), ("retried",)):
        turn_breaches(now, Exchange(slim(before), sequels, reply, reasoning=("Hm.",)), terms)
    continuity_breaches(before, now, reply, terms)
