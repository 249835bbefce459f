"""Estimate the tokens of a request: images by the formula of Holo models, and four characters to a token of text."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from holo_tasks.contract.wire_messages import calls_of, data_uri, image_urls, messages_of, text_of
from holo_tasks.core.limits.money import image_tokens

# Tokens for the role markers of a message in the chat templates of Holo models.
_PER_MESSAGE = 5


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text) // 4)


def message_tokens(message: Mapping[str, Any]) -> int:
    """Estimate the tokens of a message, with its images, its calls and the thinking that is sent back."""
    tokens = _PER_MESSAGE + text_tokens(text_of(message))
    if calls_of(message):
        tokens += text_tokens(json.dumps(calls_of(message)))
    tokens += text_tokens(str(message.get("reasoning_content") or ""))
    return tokens + sum(map(_image_tokens, image_urls(message)))


def tool_tokens(body: Mapping[str, Any]) -> int:
    """Estimate the tokens of the tools that the server's template writes into the prompt."""
    return text_tokens(json.dumps(body["tools"])) if body.get("tools") else 0


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """Estimate the tokens of a prompt: its tools and messages.

    The schema in ``response_format`` does not count, because the server does not write it into the prompt.
    """
    return tool_tokens(body) + sum(map(message_tokens, messages_of(body)))


def _image_tokens(url: str) -> int:
    from PIL import Image

    found = data_uri(url)
    try:
        with Image.open(io.BytesIO(found[1] if found else b"")) as picture:
            return image_tokens(*picture.size)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        # Another rule reports images that cannot be decoded.
        return 0
