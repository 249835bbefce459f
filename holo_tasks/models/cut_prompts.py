"""Detect a server that cuts long prompts short without an error, by its bills. Ollama does so at 4,096 tokens.

`CutPrompts` compares the requests of one conversation, so that no tokenizer has to be known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MORE_BYTES = 2_000
"""Bytes of text that are at least 60 tokens for every tokenizer, whatever the text."""
MORE_TOKENS = 60
MOST_CONVERSATIONS = 64


@dataclass(frozen=True)
class _Bill:
    text_bytes: int
    images: int
    tokens: int


@dataclass
class CutPrompts:
    """An earlier bill of each conversation. A conversation is known by the text of its first two messages."""

    _bills: dict[str, _Bill] = field(default_factory=dict)
    _warned: bool = False

    def warning(self, body: Mapping[str, Any], prompt_tokens: int) -> str:
        """Return a warning if a longer request was not billed as longer; empty if it was, and after the first warning.

        ``prompt_tokens`` is the bill for ``body``, a chat completion request.
        """
        messages = body.get("messages") or []
        digest = hashlib.sha256("\0".join(text for text, _ in map(_parts, messages[:2])).encode()).hexdigest()
        bill = _bill(messages, prompt_tokens)
        earlier = self._bills.setdefault(digest, bill)
        more_bytes, more_tokens = bill.text_bytes - earlier.text_bytes, bill.tokens - earlier.tokens
        is_shorter = more_bytes < 0 or bill.images < earlier.images
        if is_shorter or more_tokens >= MORE_TOKENS:
            self._bills[digest] = bill
        if len(self._bills) > MOST_CONVERSATIONS:
            del self._bills[next(iter(self._bills))]
        if self._warned or is_shorter or more_bytes < MORE_BYTES or more_tokens >= MORE_TOKENS:
            return ""
        self._warned = True
        return (
            f"counted {earlier.tokens} tokens for a prompt, and {bill.tokens} for one that is {more_bytes} bytes "
            "longer. It cuts long prompts short, and the model forgets its task. Give the server a larger context "
            "(Ollama: OLLAMA_CONTEXT_LENGTH)."
        )


def _bill(messages: list[dict[str, Any]], tokens: int) -> _Bill:
    parts = [_parts(message) for message in messages]
    return _Bill(sum(len(text.encode()) for text, _ in parts), sum(images for _, images in parts), tokens)


def _parts(message: Mapping[str, Any]) -> tuple[str, int]:
    """Return a message's text, and the number of its images."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content, 0
    texts = [part["text"] for part in content if part.get("type") == "text"]
    return "\n".join(texts), len(content) - len(texts)
