"""Contract rules on two consecutive requests: how the client reacted to the reply between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from holo_tasks.contract.continuity import REPLAYED, continuity_breaches, histories
from holo_tasks.contract.holotron import words_of
from holo_tasks.contract.offered_tools import answer_only
from holo_tasks.contract.rulebook import STANDARD, Body, Breach, Dialect, Rule, Terms
from holo_tasks.contract.wire_messages import kinds, messages_of, slim, task_of, text_of

UNCALLED_FOR = Rule("C10", "a correction follows a reply that could not be used, and nothing else")
CORRECTED = Rule("C11", "a reply that cannot be used is answered with a correction")
NO_REPEAT = Rule("C12", "a request is repeated only after a fault on the way")
SAME_AGAIN = Rule("C13", "after a fault on the way the same request is sent again")
NOT_KEPT = Rule("C14", "nothing of a reply that could not be used is in the history")
MOST = 3
SOME = Rule("C15", f"a reply is corrected {MOST} times at most; the next that cannot be used ends the conversation")
NO_LEAK = Rule("C16", "reasoning that was given is nowhere in a request, but where a model keeps its thinking")

RULES = (UNCALLED_FOR, CORRECTED, NO_REPEAT, SAME_AGAIN, NOT_KEPT, SOME, NO_LEAK)

CHATS: tuple[Dialect, ...] = ("structured", "tools")
"""Dialects in which a conversation has a history."""
Sequel: TypeAlias = Literal["tolerated", "corrected", "retried", "terminal"]
"""How a client continues: normally, with a correction, with the same request, or not at all."""


@dataclass(frozen=True)
class Exchange:
    """A request, and the follow-ups that its answer allows.

    ``sequels`` are the permitted follow-ups, the usual one first. ``reply`` is the usable reply: the step, or the
    message with the function call. ``over``: the reply was the answer. ``unusable`` counts consecutive unusable
    replies. ``reasoning`` is all reasoning text of the conversation.
    """

    body: Body
    sequels: tuple[Sequel, ...] = ("tolerated",)
    reply: Mapping[str, Any] | None = None
    over: bool = False
    unusable: int = 0
    reasoning: tuple[str, ...] = ()


def turn_breaches(body: Body, exchange: Exchange, terms: Terms = STANDARD) -> list[Breach]:
    """Return the rules that a request breaks as a follow-up to an exchange. An ambiguous request counts as the
    permitted kind.
    """
    leaked = list(_leaks(body, exchange, terms))
    if leaked or begins_anew(body, exchange, terms):
        return leaked
    tried = [_after(sequel, body, exchange, terms) for sequel in exchange.sequels]
    return [] if [] in tried else tried[0]


def begins_anew(body: Body, exchange: Exchange, terms: Terms) -> bool:
    """Return whether a request starts a new conversation about the same task after the previous one has ended."""
    over = exchange.over or exchange.unusable > 1 or "terminal" in exchange.sequels
    again = same_request(body, exchange.body)
    if not over or corrects(body, exchange.body, terms) or (again and "retried" in exchange.sequels):
        return False
    if terms.dialect == "localize":
        return not again
    if terms.dialect == "holotron":
        words = words_of(body)
        return words is not None and not words.recent
    return "step" not in kinds(messages_of(body))


def same_request(body: Body, earlier: Body) -> bool:
    """Return whether a request repeats another one. Its token limit may be smaller because less money is left."""
    one, other = ({**slim(each), "max_tokens": None} for each in (body, earlier))
    return one == other


def conversation_of(body: Body, terms: Terms) -> str:
    """Return the identity of a conversation: its task, or the question."""
    if terms.dialect == "holotron":
        words = words_of(body)
        return words.task if words else ""
    return _question(body) if terms.dialect == "localize" else task_of(body)


def corrects(body: Body, earlier: Body, terms: Terms) -> bool:
    """Return whether a request corrects a reply.

    A conversation has a message for it. Otherwise it is one or more paragraphs: after Holotron's recent actions, or
    after the first paragraph of a question.
    """
    if terms.dialect == "holotron":
        words = words_of(body)
        return words is not None and len(words.rest) > 1
    if terms.dialect == "localize":
        said, known = (_question(each).split("\n\n") for each in (body, earlier))
        more = len(said) - len(known)
        return more > 0 and any(said[:n] + said[n + more :] == known for n in range(1, len(known) + 1))
    return "correction" in kinds(messages_of(body))


def is_last_call(body: Body, earlier: Body | None, terms: Terms) -> bool:
    """Return whether a request permits nothing but an answer. For Holotron this needs the earlier request to compare
    with.
    """
    if terms.dialect == "holotron":
        words, known = words_of(body), words_of(earlier or {})
        return words is not None and known is not None and words.rest[-1:] != known.rest[-1:]
    return terms.dialect in CHATS and answer_only(body, terms)


def _after(sequel: Sequel, body: Body, exchange: Exchange, terms: Terms) -> list[Breach]:
    earlier, reply = exchange.body, exchange.reply
    again = same_request(body, earlier)
    final = is_last_call(body, earlier, terms)
    if sequel == "terminal":
        return [Breach(NO_REPEAT, "the reply ended the conversation")]
    if sequel == "retried":
        return [] if again or final else [Breach(SAME_AGAIN)]
    correction = corrects(body, earlier, terms)
    if sequel == "corrected":
        if exchange.unusable > MOST:
            return [Breach(SOME)]
        if not correction:
            return [Breach(CORRECTED, "the same request again" if again else "")]
        kept = [Breach(NOT_KEPT)] if _grew(body, earlier, terms) else []
        return kept or continuity_breaches(body, earlier, None, terms)
    if again and not _looks_alike(body, terms):
        return [Breach(NO_REPEAT)]
    if correction:
        return [Breach(UNCALLED_FOR)]
    found = continuity_breaches(body, earlier, reply, terms)
    if not found and not final and terms.dialect in CHATS and not _grew(body, earlier, terms):
        return [Breach(REPLAYED, "it is not in the history")]
    return found


def _grew(body: Body, earlier: Body, terms: Terms) -> bool:
    """Return whether a request has more past actions than the one before."""
    if terms.dialect == "holotron":
        words, known = words_of(body), words_of(earlier)
        return words is not None and known is not None and words.recent != known.recent
    old, new = histories(slim(body), slim(earlier))  # without old turns that were left out
    return terms.dialect != "localize" and len(new) > len(old)


def _looks_alike(body: Body, terms: Terms) -> bool:
    """Return whether a new request may equal the one before: after the same action five times without a change."""
    words = words_of(body) if terms.dialect == "holotron" else None
    return words is not None and len(words.recent) > 1 and len(set(words.recent)) == 1


def _leaks(body: Body, exchange: Exchange, terms: Terms) -> Iterator[Breach]:
    for place, message in enumerate(messages_of(body)):
        said = [text_of(message), str(message.get("tool_calls", "")), str(message.get("reasoning", ""))]
        said += [] if terms.preserve_thinking else [str(message.get("reasoning_content", ""))]
        if any(thought in text for thought in exchange.reasoning if thought for text in said):
            yield Breach(NO_LEAK, f"message {place}")
            return


def _question(body: Body) -> str:
    return next((text_of(message) for message in messages_of(body)[-1:]), "")
