"""What the rehearsal model remembers of requests: only enough to check the next one of a conversation."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holo_tasks.core.money import image_tokens
from holo_tasks.playbooks.continuity import continuity_breaches, shared, without_corrections
from holo_tasks.playbooks.messages import data_uri, image_urls, messages_of, slim, step_of, task_of, text_of
from holo_tasks.playbooks.rulebook import STANDARD, Body, Breach, Terms

_KEPT = 512
# The markers of a message's role, as chat templates of the family write them.
_TOKENS_PER_MESSAGE = 5


@dataclass(frozen=True)
class Remembered:
    """A request without its pictures, and the step that answered it."""

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
            if kept.task != task or kept.turns not in (turns, turns - 1):
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
        costs = [message_tokens(message) for message in messages_of(body)]
        cached = 0
        if kept is not None:
            now, past = messages_of(slim(body)), messages_of(kept.body)
            same = next((n for n, (a, b) in enumerate(zip(now, past, strict=False)) if a != b), None)
            cached = sum(costs[: min(len(now), len(past)) if same is None else same])
        prompt, produced = sum(costs), -(-len(completion) // 4)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": produced,
            "total_tokens": prompt + produced,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


def message_tokens(message: Mapping[str, Any]) -> int:
    """Estimate the tokens of a message, its images included."""
    tokens = _TOKENS_PER_MESSAGE + -(-len(text_of(message)) // 4)
    for url in image_urls(message):
        found = data_uri(url)
        if found is not None:
            from PIL import Image

            with Image.open(io.BytesIO(found[1])) as picture:
                tokens += image_tokens(*picture.size)
    return tokens


def _turns(body: Body) -> int:
    return sum(1 for m in messages_of(body) if m.get("role") == "assistant" and step_of(m) is not None)
