"""Rules about two successive requests of one conversation."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from holo_tasks.contract.continuity import continuity_breaches
from holo_tasks.contract.wire_messages import messages_of, step_of
from holo_tasks.rehearsal.conversations import Conversations


def ids(now: dict[str, Any], before: dict[str, Any], reply: dict[str, Any] | None = None) -> list[str]:
    return [breach.rule.id for breach in continuity_breaches(now, before, reply)]


@pytest.mark.parametrize("steps", range(6))
def test_a_conversation_of_the_product_only_grows(steps: int, body: Any) -> None:
    before, now = body(steps), body(steps + 1)
    reply = step_of([m for m in messages_of(now) if m["role"] == "assistant"][-1])
    assert ids(now, before, reply) == []


def test_a_correction_may_come_and_go(body: Any) -> None:
    assert ids(body(2, correction=True), body(2)) == []
    assert ids(body(3), body(2, correction=True)) == []


def test_the_final_call_may_have_its_own_system_message(body: Any) -> None:
    assert ids(body(4, final=True), body(4)) == []


def test_the_system_message_is_the_same_to_the_byte(body: Any) -> None:
    now = copy.deepcopy(body(3))
    now["messages"][0]["content"] += " "
    assert ids(now, body(2)) == ["C01"]


@pytest.mark.parametrize("place", [1, 3, 4])
def test_history_is_not_rewritten(place: int, body: Any) -> None:
    now = copy.deepcopy(body(3))
    now["messages"][place]["content"] = "Something else."
    assert "C03" in ids(now, body(2))


def test_history_is_not_dropped(body: Any) -> None:
    now = copy.deepcopy(body(4))
    del now["messages"][3:6]
    assert "C03" in ids(now, body(3))
    assert "C03" in ids(body(1), body(2))


def test_an_evicted_image_does_not_come_back(body: Any) -> None:
    before, now = body(4), copy.deepcopy(body(5))
    picture = now["messages"][-1]["content"][1]
    now["messages"][2]["content"][1] = picture
    assert ids(now, before) == ["C04"]


def test_an_old_image_is_not_exchanged(body: Any) -> None:
    now = copy.deepcopy(body(2))
    now["messages"][2]["content"][1] = now["messages"][-1]["content"][1]
    assert ids(now, body(1)) == ["C03"]


def test_a_step_is_replayed_as_it_was_given(body: Any) -> None:
    now = body(3)
    given = json.loads([m for m in now["messages"] if m["role"] == "assistant"][-1]["content"])
    assert ids(now, body(2), given) == []
    del given["tool_call"]["button"]  # a default that the serializer adds
    assert ids(now, body(2), given) == []
    given["tool_call"]["x"] = 7
    assert ids(now, body(2), given) == ["C05"]


def test_the_next_request_of_a_conversation_is_recognized(body: Any) -> None:
    known = Conversations()
    first = body(2)
    second = body(3)
    known.remember(first, json.loads(second["messages"][-3]["content"]))
    assert known.breaches(second) == []
    broken = copy.deepcopy(second)
    broken["messages"][6]["content"] = broken["messages"][6]["content"].replace("Step", "step")
    assert [breach.rule.id for breach in known.breaches(broken)] == ["C03"]


def test_an_unknown_conversation_breaks_no_rule(body: Any) -> None:
    known = Conversations()
    known.remember(body(2), {})
    assert known.breaches(body(0)) == []
    assert known.breaches(body(5)) == []


def test_a_repeated_prefix_counts_as_cached_tokens(body: Any) -> None:
    known = Conversations()
    before, now = body(1), body(2)
    first = known.usage(before, "four")
    assert first["prompt_tokens_details"] == {"cached_tokens": 0}
    assert first["completion_tokens"] == 1
    known.remember(before, json.loads(now["messages"][-3]["content"]))
    second = known.usage(now, "")
    assert second["prompt_tokens_details"]["cached_tokens"] == first["prompt_tokens"]
    assert second["prompt_tokens"] > first["prompt_tokens"]
