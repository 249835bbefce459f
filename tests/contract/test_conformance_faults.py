"""Whole conversations with a client that keeps the contract, under every fault that the server can inject."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.contract.rulebook import Dialect, Terms
from tests.support.command_line import until
from tests.support.conformance import CANARY, ConformanceServer
from tests.support.faults import ALL_FAULTS, DIALECTS, Fault, cases
from tests.support.good_client import Line, play
from tests.support.handmade import TERMS, Talk, made, turns
from tests.support.turn_taking import Sequel

SCRIPT: list[dict[str, Any]] = [
    {"tool": "click", "element": "File", "x": 100, "y": 20, "note": "A note."},
    {"tool": "click", "element": "Save", "x": 500, "y": 250},
    {"tool": "write", "content": "Zoë's 12 €"},
    {"tool": "wait", "seconds": 1.5},
    {"tool": "click", "element": "OK", "x": 0, "y": 1000, "thought": "Done soon."},
    {"tool": "answer", "content": "saved"},
]
HUNG_S = 0.6
POINTS = [{"x": 500, "y": 250}, {"x": 1000, "y": 0}, {"x": 1, "y": 2}]
MORE_REQUESTS: dict[Sequel, int] = {"tolerated": 0, "corrected": 1, "retried": 1, "terminal": 0}
FAULTS = [fault for by_name in ALL_FAULTS.values() for fault in by_name.values()]


def script(dialect: Dialect) -> list[dict[str, Any]]:
    return POINTS if dialect == "localize" else SCRIPT


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_good_conversation_breaks_nothing(dialect: Dialect) -> None:
    with ConformanceServer(script(dialect), TERMS[dialect]) as server:
        ended = play(server.base_url, TERMS[dialect], Talk())
    assert ended == ("all questions answered" if dialect == "localize" else "saved")
    assert len(server.requests) == len(server.headers) == len(script(dialect))
    assert server.connections == 1
    assert server.prompt_tokens > 0
    assert server.completion_tokens > 0


@pytest.mark.parametrize("fault", cases(FAULTS))
def test_a_fault_leads_to_its_declared_sequel(fault: Fault) -> None:
    terms = TERMS[fault.dialect]
    with ConformanceServer(script(fault.dialect), terms, {0: fault.name, 2: fault.name}) as server:
        ended = play(server.base_url, terms, Talk(), patience_s=HUNG_S if fault.name == "hung" else 20)
    if fault.sequel == "terminal":
        assert ended == "refused"
        assert len(server.requests) == len(server.injected) == 1
    else:
        assert server.injected == [fault.name] * 2
        assert ended in ("saved", "all questions answered")
        assert len(server.requests) == len(script(fault.dialect)) + 2 * MORE_REQUESTS[fault.sequel]


def test_every_fault_the_contract_names_is_there() -> None:
    written = "fenced prose empty null length length_cut ranges x1001 x_minus_1 x_1e9 x_string nan two_calls surrogate"
    named = "unknown_tool duplicate_keys extra_keys bad_arguments arguments_object low_confidence think_leak no_choices"
    bills = "reasoning_under_either_name null_usage missing_usage null_details html_200 not_json hung dropped"
    passing = "dropped_before_headers status429 status429_whole status500 status503 status401"
    assert {name for faults in ALL_FAULTS.values() for name in faults} == set(
        f"{written} {named} {bills} {passing}".split()
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_survives_consecutive_faults(dialect: Dialect) -> None:
    faults = {0: ["status503", "dropped", "prose", "status429"], 1: ["hung", "x1001", "status500"]}
    with ConformanceServer(script(dialect), TERMS[dialect], faults) as server:
        ended = play(server.base_url, TERMS[dialect], Talk(), patience_s=HUNG_S)
    assert ended in ("saved", "all questions answered")
    assert server.injected == [name for names in faults.values() for name in names]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_replies_that_cannot_be_used_end_a_conversation(dialect: Dialect) -> None:
    with ConformanceServer(script(dialect), TERMS[dialect], lambda turn: ["prose", "empty"]) as server:
        assert play(server.base_url, TERMS[dialect], Talk()) == "two replies that could not be used"
    assert len(server.requests) == 2


@pytest.mark.parametrize("dialect", ["structured", "tools", "holotron"])
def test_simultaneous_conversations_are_distinguished_by_their_tasks(dialect: Dialect) -> None:
    ended: list[str] = []
    with ConformanceServer(SCRIPT, TERMS[dialect], {1: "x_string"}, latency_s=0.05) as server:

        def one(number: int) -> None:
            ended.append(play(server.base_url, TERMS[dialect], Talk(task=f"Task number {number}.")))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert ended == ["saved"] * 6
    assert server.connections == 6
    assert server.most_in_flight > 1
    assert until(lambda: server.in_flight == 0), "an answer is read before its thread is done with it"


@pytest.mark.parametrize("dialect", ["structured", "tools"])
def test_reply_strips_tool_suffixes_and_a_full_context_keep_the_contract(dialect: Dialect) -> None:
    wandering = [*({**SCRIPT[0], "x": x} for x in range(12)), SCRIPT[-1]]
    talk = Talk(suffix="_desktop", strips=frozenset({3, 5, 11}))
    with ConformanceServer(wandering, TERMS[dialect], {6: "prose", 9: "status500"}) as server:
        assert play(server.base_url, TERMS[dialect], talk, context=5) == "saved"
    assert "Earlier steps left out" in str(server.requests[-1])


def test_thinking_is_kept_where_the_terms_say_so() -> None:
    terms = replace(TERMS["tools"], preserve_thinking=True, tool_choice="auto", temperature=1.0)
    more = {
        "chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True},
        "tool_choice": "auto",
        "temperature": 1.0,
    }
    with ConformanceServer(SCRIPT, terms, {1: "reasoning_under_either_name", 2: "x1001"}) as server:
        assert play(server.base_url, terms, Talk(more=more)) == "saved"
    assert CANARY in str(server.requests[-1])


def test_reasoning_alternates_between_its_two_field_names() -> None:
    with ConformanceServer(SCRIPT) as server:
        line = Line(server.base_url)
        names = set()
        for number in range(4):
            _, completion = line.post(made("structured", Talk(task=f"Task {number}.")))
            names |= {key for key in completion["choices"][0]["message"] if key.startswith("reasoning")}
    assert names == {"reasoning", "reasoning_content"}


def test_token_totals_equal_the_reported_usage() -> None:
    with ConformanceServer(SCRIPT, faults={0: "null_usage", 1: "missing_usage", 2: "dropped"}) as server:
        line, reported = Line(server.base_url), [0, 0, 0]
        for number in range(3):
            _, completion = line.post(made("structured", Talk(task=f"Task {number}.", turns=turns(0))))
            assert completion["usage"] is None
        assert server.prompt_tokens == server.completion_tokens == 0
    with ConformanceServer(SCRIPT) as server:
        line = Line(server.base_url)
        for number in range(3):
            _, completion = line.post(made("structured", Talk(task=f"Task {number}.")))
            usage = completion["usage"]
            counts = (
                usage["prompt_tokens"],
                usage["completion_tokens"],
                usage["prompt_tokens_details"]["cached_tokens"],
            )
            reported = [total + count for total, count in zip(reported, counts, strict=True)]
    assert [server.prompt_tokens, server.completion_tokens, server.cached_tokens] == reported


def test_a_hung_request_is_answered_when_the_server_lets_go() -> None:
    with ConformanceServer(SCRIPT, faults={0: "hung"}) as server:
        threading.Timer(0.1, server.release).start()
        started = time.monotonic()
        assert play(server.base_url, TERMS["structured"], Talk()) == "saved"
        assert time.monotonic() - started >= 0.1
    assert len(server.requests) == len(SCRIPT)


def test_the_final_call_gets_an_answer_despite_the_script() -> None:
    for dialect in ("structured", "tools"):
        with ConformanceServer(SCRIPT, TERMS[dialect]) as server:
            assert play(server.base_url, TERMS[dialect], Talk(final=True)) == "What I know so far."


def test_a_task_may_be_worked_on_again_once_it_is_answered() -> None:
    with ConformanceServer(SCRIPT) as server:
        assert play(server.base_url, Terms(), Talk()) == "saved"
        assert play(server.base_url, Terms(), Talk()) == "saved"
    assert len(server.requests) == 2 * len(SCRIPT)


def test_the_server_requires_the_key() -> None:
    terms = Terms(key="open sesame")
    with ConformanceServer(SCRIPT, terms) as server:
        assert play(server.base_url, terms, Talk()) == "saved"
    assert "open sesame" not in repr(terms)
