"""The contract between two requests of one conversation: what came before is only added to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from holo_tasks.playbooks.contract_schema import tag_of, variants
from holo_tasks.playbooks.messages import (
    image_urls,
    is_observation,
    kinds,
    messages_of,
    slim,
    step_of,
    text_of,
)
from holo_tasks.playbooks.rulebook import STANDARD, Body, Breach, Rule, Terms

SAME_SYSTEM = Rule("C01", "the system message is byte-identical at every step of a conversation")
APPENDED = Rule("C03", "the history of a conversation is only added to")
NO_RETURN = Rule("C04", "an image that was left out never comes back")
REPLAYED = Rule("C05", "a step is replayed as the reply that was given, parsed and serialised again")

RULES = (SAME_SYSTEM, APPENDED, NO_RETURN, REPLAYED)


def continuity_breaches(
    body: Body, earlier: Body, reply: Mapping[str, Any] | None = None, terms: Terms = STANDARD
) -> list[Breach]:
    """Return what a request breaks as the next one (or a repeat) after ``earlier`` in a conversation.

    ``reply`` is the step given to ``earlier``. Either request may be `slim`. A final call, whose schema
    allows only an answer, has a system message of its own.
    """
    now, past = slim(body), slim(earlier)
    found = []
    final = is_final(now, terms) or is_final(past, terms)
    if not final and system_of(now) != system_of(past):
        found.append(Breach(SAME_SYSTEM))
    old, new = without_corrections(past), without_corrections(now)
    for place, (before, after) in enumerate(zip_longest(old, new), start=1):
        if before is None:
            break
        if after is None:
            found.append(Breach(APPENDED, f"message {place} is gone"))
            break
        if before == after:
            continue
        if is_observation(before) and is_observation(after):
            held, holds = bool(image_urls(before)), bool(image_urls(after))
            if held and not holds:
                continue
            if holds and not held:
                found.append(Breach(NO_RETURN, f"message {place}"))
                break
        found.append(Breach(APPENDED, f"message {place} is not what it was"))
        break
    if reply is not None and len(new) > len(old):
        replayed = step_of(new[len(old)])
        if replayed is None or _meant(replayed) != _meant(reply):
            found.append(Breach(REPLAYED, f"message {len(old) + 1}"))
    return found


def without_corrections(body: Body) -> list[Mapping[str, Any]]:
    """Return the messages that stay in a conversation: no system message and no corrections."""
    messages = messages_of(body)
    named = zip(messages, kinds(messages), strict=True)
    return [message for message, kind in named if kind not in ("system", "correction")]


def shared(body: Body, earlier: Body) -> int:
    """Count the leading messages that two requests have in common, evictions aside."""
    count = 0
    for one, other in zip(without_corrections(slim(body)), without_corrections(slim(earlier)), strict=False):
        both_seen = is_observation(one) and is_observation(other)
        evicted = both_seen and bool(image_urls(one)) != bool(image_urls(other))
        if one != other and not evicted:
            break
        count += 1
    return count


def is_final(body: Body, terms: Terms = STANDARD) -> bool:
    """Say whether a request allows nothing but an answer."""
    tags = [tag_of(variant) for variant in variants(body, terms)]
    return bool(tags) and all(str(tag).startswith("answer") for tag in tags)


def system_of(body: Body) -> str:
    """Return the text of the system message."""
    return next((text_of(m) for m in messages_of(body) if m.get("role") == "system"), "")


def _meant(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step without the fields that hold their default: serialising may add or drop those."""
    call = dict(_present(step.get("tool_call", {})))
    return {"note": step.get("note") or None, "thought": step.get("thought"), "tool_call": call}


_DEFAULTS: dict[str, object] = {
    "button": "left",
    "press_enter": False,
    "overwrite": False,
    "repeat_count": 1,
    "scroll_size": 3,
}


def _present(call: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in call.items() if _DEFAULTS.get(key, ...) != value)
