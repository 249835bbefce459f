"""What the rehearsal model remembers of requests: only enough to check the next one of a conversation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from holo_tasks.contract.continuity import continuity_breaches, mode_of, shared, without_corrections
from holo_tasks.contract.rulebook import STANDARD, Body, Breach, Terms
from holo_tasks.contract.tokens import message_tokens, prompt_tokens, text_tokens, tool_tokens
from holo_tasks.contract.wire_messages import messages_of, slim, step_of, task_of

_KEPT = 512


@dataclass(frozen=True)
class Remembered:
    """A request without its pictures, and the step or the function call that answered it."""

    body: Mapping[str, Any]
    reply: Mapping[str, Any]
    task: str
    turns: int


class Conversations:
    """The latest requests. A client that nobody remembers is never blamed for its history."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Remembered] = OrderedDict()
        self._count = 0

    def remember(self, body: Body, reply: Mapping[str, Any]) -> None:
        self._count += 1
        self._kept[self._count] = Remembered(slim(body), reply, task_of(body), _turns(body))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def before(self, body: Body) -> Remembered | None:
        """Return the request this one goes on from, or repeats: same task, same first screen, newest first."""
        task, turns = task_of(body), _turns(body)
        best: tuple[int, int, Remembered] | None = None
        for age, kept in enumerate(reversed(self._kept.values())):
            if kept.task != task or kept.turns not in (turns, turns - 1) or mode_of(kept.body) != mode_of(body):
                continue
            common = shared(body, kept.body)
            # Two runs of one task start alike; what they have in common is the task and the first screen.
            if common < 2 or (kept.turns == turns and common < len(without_corrections(body))):
                continue
            if best is None or (common, -age) > best[:2]:
                best = (common, -age, kept)
        return best[2] if best else None

    def breaches(self, body: Body, terms: Terms = STANDARD) -> list[Breach]:
        """Return what a request breaks as the next one of its conversation."""
        kept = self.before(body)
        return continuity_breaches(body, kept.body, kept.reply, terms) if kept else []

    def usage(self, body: Body, completion: str) -> dict[str, Any]:
        """Count tokens as the model family does for images, and four characters to one for text."""
        kept = self.before(body)
        prompt, produced = prompt_tokens(body), text_tokens(completion)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": produced,
            "total_tokens": prompt + produced,
            "prompt_tokens_details": {"cached_tokens": cached_tokens(body, kept.body) if kept else 0},
        }


def cached_tokens(body: Body, earlier: Body) -> int:
    """Estimate how much of a prompt a server still knows from the request before: what both begin with."""
    if body.get("tools") != earlier.get("tools"):
        return 0
    past = messages_of(slim(earlier))
    pairs = zip(messages_of(slim(body)), past, messages_of(body), strict=False)
    same = takewhile(lambda pair: pair[0] == pair[1], pairs)
    return tool_tokens(body) + sum(message_tokens(message) for _, _, message in same)


def _turns(body: Body) -> int:
    return sum(1 for m in messages_of(body) if m.get("role") == "assistant" and step_of(m) is not None)
