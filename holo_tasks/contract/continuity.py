"""The rules for two requests of one conversation: messages are only added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from holo_tasks.contract.holotron import words_of
from holo_tasks.contract.offered_tools import answer_only, meant, offered
from holo_tasks.contract.rulebook import STANDARD, Body, Breach, Rule, Terms
from holo_tasks.contract.wire_messages import (
    LEFT_OUT,
    calls_of,
    function_call,
    is_observation,
    kinds,
    messages_of,
    parts_of,
    schema_of,
    slim,
    step_of,
    text_of,
)

SAME_SYSTEM = Rule("C01", "the system message is byte-identical at every step of a conversation")
SAME_TOOLS = Rule("C02", "the tools are the same at every step of a conversation, except at its last one")
APPENDED = Rule("C03", "messages are only added to the history of a conversation")
NO_RETURN = Rule("C04", "an image that was removed is never sent again")
REPLAYED = Rule("C05", "a step is replayed as the reply that the model gave, parsed and serialised again")
ONE_MODE = Rule("C06", "a conversation keeps its model, its temperature and its dialect")
SAME_THINKING = Rule("C07", "replayed thinking is the thinking that the model gave")

RULES = (SAME_SYSTEM, SAME_TOOLS, APPENDED, NO_RETURN, REPLAYED, ONE_MODE, SAME_THINKING)

Messages = Sequence[Mapping[str, Any]]
_TURN = 3
"""Messages in a turn: observation, step, result."""


def continuity_breaches(
    body: Body, earlier: Body, reply: Mapping[str, Any] | None = None, terms: Terms = STANDARD
) -> list[Breach]:
    """Return the rules that a request breaks as the successor, or a repetition, of ``earlier``.

    ``reply`` is the reply to ``earlier``: the step, or the assistant message with its function call. Both requests
    may be `slim`. A final request, whose schema allows only an answer, has a different system message.
    """
    now, past = slim(body), slim(earlier)
    found = list(_mode(now, past))
    if terms.dialect == "localize":
        return found
    final = answer_only(now, terms) or answer_only(past, terms)
    if not final and system_of(now) != system_of(past):
        found.append(Breach(SAME_SYSTEM))
    if terms.dialect == "holotron":
        return [*found, *_recent_actions(now, past, reply)]
    if not final and _declared(now, terms) != _declared(past, terms):
        found.append(Breach(SAME_TOOLS))
    old, new = histories(now, past)
    found.extend(_rewritten(old, new))
    if reply is not None and len(new) > len(old):
        found.extend(_replayed(new[len(old)], reply, past, terms, f"message {len(old) + 1}"))
    return found


def without_corrections(body: Body) -> list[Mapping[str, Any]]:
    """Return the messages that stay in a conversation, without system messages, corrections and notices."""
    messages = messages_of(body)
    named = zip(messages, kinds(messages), strict=True)
    return [message for message, kind in named if kind not in ("system", "correction", "notice")]


def shared_beginning(body: Body, earlier: Body) -> int:
    """Return the number of leading messages that two requests share. Removed pictures do not count as a difference."""
    count = 0
    for one, other in zip(without_corrections(slim(body)), without_corrections(slim(earlier)), strict=False):
        if not _equal_but_for_pictures(one, other):
            break
        count += 1
    return count


def system_of(body: Body) -> str:
    """Return the text of the system message."""
    return next((text_of(m) for m in messages_of(body) if m.get("role") == "system"), "")


def mode_of(body: Body) -> str:
    """Return how a request constrains its reply: "tools", "schema" or "plain"."""
    if "tools" in body:
        return "tools"
    return "schema" if "structured_outputs" in body or "response_format" in body else "plain"


def _mode(now: Body, past: Body) -> Iterator[Breach]:
    for key in ("model", "temperature"):
        if now.get(key) != past.get(key):
            yield Breach(ONE_MODE, f"{key} was {past.get(key)!r} and is {now.get(key)!r}")
            return
    if mode_of(now) != mode_of(past):
        yield Breach(ONE_MODE, f"{mode_of(past)} before, {mode_of(now)} now")


def _declared(body: Body, terms: Terms) -> Any:
    return body.get("tools") if terms.dialect == "tools" else schema_of(body, terms.transport)


def histories(now: Body, past: Body) -> tuple[Messages, Messages]:
    """Return the required history and the actual history of a request."""
    new = without_corrections(now)
    return _required_history(without_corrections(past), new), new


def _required_history(old: Messages, new: Messages) -> Messages:
    """Return the messages of the request before that the new one must contain.

    Old turns may be left out to fit the context. Then complete turns are missing after the task, and the task
    message says so. The observation that was replied to always stays.
    """
    if not old or not new or LEFT_OUT not in text_of(new[0]):
        return old
    if text_of(old[0]).partition(LEFT_OUT)[0] != text_of(new[0]).partition(LEFT_OUT)[0]:
        return old
    steps = [message for message in old if message.get("role") == "assistant"]
    for start in range(1, len(old), _TURN):
        kept = old[start:]
        if len(kept) == 1 and any(step in new for step in steps):
            break
        if len(kept) < len(new) and all(map(_equal_but_for_pictures, kept, new[1:])):
            return [new[0], *kept] if start > 1 else old
    return old


def _rewritten(old: Messages, new: Messages) -> Iterator[Breach]:
    for place, (before, after) in enumerate(zip_longest(old, new), start=1):
        if before is None:
            return
        if after is None:
            yield Breach(APPENDED, f"message {place} is gone")
            return
        if before == after:
            continue
        changes = _changed_parts(before, after)
        if changes is None or ("image_url", "image_url") in changes or ("text", "text") in changes:
            yield Breach(APPENDED, f"message {place} has changed")
            return
        if ("text", "image_url") in changes:
            yield Breach(NO_RETURN, f"message {place}")
            return


def _changed_parts(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[tuple[str, str]] | None:
    """Return the types of the parts that differ between two observations, as pairs.

    Returns ``None`` if the messages differ in more than parts.
    """
    parts = parts_of(one), parts_of(other)
    if not is_observation(one) or not is_observation(other) or len(parts[0]) != len(parts[1]):
        return None
    return {(str(a.get("type")), str(b.get("type"))) for a, b in zip(*parts, strict=True) if a != b}


def _equal_but_for_pictures(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two messages are equal except for pictures that only one message still contains."""
    if one == other:
        return True
    changes = _changed_parts(one, other)
    return changes is not None and changes <= {("image_url", "text"), ("text", "image_url")}


def _replayed(
    message: Mapping[str, Any], reply: Mapping[str, Any], past: Body, terms: Terms, where: str
) -> Iterator[Breach]:
    if not calls_of(reply):
        replayed = step_of(message)
        if replayed is None or _without_defaults(replayed, past, terms) != _without_defaults(reply, past, terms):
            yield Breach(REPLAYED, where)
        return
    given, calls = function_call(calls_of(reply)[0]), calls_of(message)
    held = function_call(calls[0]) if calls else None
    schema = offered(past, terms).get(given.name, {})
    if held is None or (held.id, held.name) != (given.id, given.name):
        yield Breach(REPLAYED, f"{where} is not the first call that was given, {given.name} {given.id}")
    elif meant(held.arguments or {}, schema) != meant(given.arguments or {}, schema):
        yield Breach(REPLAYED, f"the arguments of {where}")
    elif _content_of(message) != _content_of(reply):
        yield Breach(REPLAYED, f"the content of {where}")
    thinking = message.get("reasoning_content")
    if thinking is not None and thinking not in (reply.get("reasoning_content"), reply.get("reasoning")):
        yield Breach(SAME_THINKING, where)


def _content_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message with a call, without reasoning that a server left in it."""
    return re.sub(r"\A\s*<think>.*?</think>", "", text_of(message), flags=re.DOTALL).strip()


def _without_defaults(step: Mapping[str, Any], past: Body, terms: Terms) -> dict[str, Any]:
    call = step.get("tool_call", {})
    schema = offered(past, terms).get(str(call.get("tool_name")), {})
    return {"note": step.get("note") or None, "thought": step.get("thought"), "tool_call": meant(call, schema)}


def _recent_actions(now: Body, past: Body, reply: Mapping[str, Any] | None) -> Iterator[Breach]:
    """Yield the errors in the list of recent actions. New ones are appended, and the oldest are removed."""
    words, known = words_of(now), words_of(past)
    if words is None or known is None:
        return
    before, after = known.recent, words.recent
    if reply is None and before != after:
        yield Breach(APPENDED, "the recent actions changed without a new action")
    elif reply is not None and not any(_follows(before, after, added) for added in range(1, len(after) + 1)):
        yield Breach(REPLAYED if before == after else APPENDED, "the recent actions")


def _follows(before: tuple[str, ...], after: tuple[str, ...], added: int) -> bool:
    """Return whether a list of actions is the earlier one with ``added`` new actions and without the oldest.

    At least one earlier action has to stay if there is room for more than one.
    """
    kept = after[: len(after) - added]
    return before[len(before) - len(kept) :] == kept and (bool(kept) or not before or len(after) == 1)
