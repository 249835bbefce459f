"""Remember requests to the rehearsal model, to check the next request of a conversation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from holo_tasks.contract.continuity import continuity_breaches, mode_of, shared_beginning, without_corrections
from holo_tasks.contract.rulebook import STANDARD, Body, Breach, Terms
from holo_tasks.contract.tokens import message_tokens, prompt_tokens, text_tokens, tool_tokens
from holo_tasks.contract.wire_messages import messages_of, slim, step_of, task_of

_KEPT = 512


@dataclass(frozen=True)
class EarlierRequest:
    """A request without its pictures, and the step or function call in its reply.

    ``turns`` is the number of the model's steps in the request's history.
    """

    body: Mapping[str, Any]
    reply: Mapping[str, Any]
    task: str
    turns: int


class Conversations:
    """The latest 512 requests. A request without a known predecessor is not checked for continuity."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, EarlierRequest] = OrderedDict()
        self._count = 0

    def remember(self, body: Body, reply: Mapping[str, Any]) -> None:
        self._count += 1
        self._kept[self._count] = EarlierRequest(slim(body), reply, task_of(body), _turns(body))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def before(self, body: Body) -> EarlierRequest | None:
        """Return the request that this one continues or repeats, or ``None``.

        Both have the same task and the same first screen. Of several such requests, those with the most shared messages
        count, and of these the newest.
        """
        task, turns = task_of(body), _turns(body)
        best: tuple[int, int, EarlierRequest] | None = None
        for age, earlier in enumerate(reversed(self._kept.values())):
            if (
                earlier.task != task
                or earlier.turns not in (turns, turns - 1)
                or mode_of(earlier.body) != mode_of(body)
            ):
                continue
            common = shared_beginning(body, earlier.body)
            # Two runs of one task share the task and the first screen.
            if common < 2 or (earlier.turns == turns and common < len(without_corrections(body))):
                continue
            if best is None or (common, -age) > best[:2]:
                best = (common, -age, earlier)
        return best[2] if best else None

    def breaches(self, body: Body, terms: Terms = STANDARD) -> list[Breach]:
        """Return the rules that a request breaks as the next one of its conversation.

        ``terms`` are the limits in those rules.
        """
        earlier = self.before(body)
        return continuity_breaches(body, earlier.body, earlier.reply, terms) if earlier else []

    def usage(self, body: Body, completion: str) -> dict[str, Any]:
        """Return the token usage: images by the formula of Holo models, and four characters to a token of text."""
        earlier = self.before(body)
        prompt, produced = prompt_tokens(body), text_tokens(completion)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": produced,
            "total_tokens": prompt + produced,
            "prompt_tokens_details": {"cached_tokens": cached_tokens(body, earlier.body) if earlier else 0},
        }


def cached_tokens(body: Body, earlier: Body) -> int:
    """Estimate the tokens of a prompt that a server has cached: the common beginning with the request before."""
    if body.get("tools") != earlier.get("tools"):
        return 0
    past = messages_of(slim(earlier))
    pairs = zip(messages_of(slim(body)), past, messages_of(body), strict=False)
    same = takewhile(lambda pair: pair[0] == pair[1], pairs)
    return tool_tokens(body) + sum(message_tokens(message) for _, _, message in same)


def _turns(body: Body) -> int:
    return sum(1 for m in messages_of(body) if m.get("role") == "assistant" and step_of(m) is not None)
