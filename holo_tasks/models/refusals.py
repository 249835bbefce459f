"""Remedies for a model server's refusals, by the words of its error message.

The client adds them to errors of a run, and `holo-tasks doctor` to its findings.
"""

from __future__ import annotations

import re

from holo_tasks.models.profile import PROFILES_VARIABLE

IN_A_PROFILE = f"in a profile of this model ({PROFILES_VARIABLE})"
BLIND = "it may not receive pictures: serve it with its image encoder (llama.cpp: --mmproj)"
_REMEDIES = (
    (
        # vLLM: "At most 1 image(s) may be provided in one request", "You set image=1 (or defaulted to 1) in ..."
        r"\b(at most|more than|only|maximum( of)?|up to|set image=)\D{0,12}\d+\D{0,12}"
        r"(images?|pictures?|multi-?modal|\(or defaulted)|limit.mm.per.prompt",
        f"set image_budget = 1 {IN_A_PROFILE}, or let the server accept more pictures (vLLM: --limit-mm-per-prompt)",
    ),
    (
        r"context.(length|size|window|limit)|maximum context|n_ctx|prompt.{0,20}too (long|large)|"
        r"too many (input )?tokens|input.{0,20}too long|max_model_len",
        f"set context_tokens to the server's real limit {IN_A_PROFILE}, or give the server a larger context",
    ),
    (
        r"reasoning.?effort|support\w*.{0,30}\b(think|reason)|\b(think|reason)\w*.{0,30}(not|un)\W?support",
        f'set reasoning_effort = "default" {IN_A_PROFILE}; if that does not help, thinking = "default" as well',
    ),
    (
        r"chat_template_kwargs|enable_thinking",
        f'set thinking = "default" {IN_A_PROFILE}',
    ),
    (r"image|multi-?modal|vision|mmproj|content part", BLIND),
    (
        r"structured_outputs|response_format|json_schema|grammar",
        f"set another schema_transport {IN_A_PROFILE}",
    ),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), remedy) for pattern, remedy in _REMEDIES)
_NO_MONEY = re.compile(
    r"insufficient[ _](quota|balance|funds|credit)|exceeded your current quota|billing|out of credits?|"
    r"credit balance|payment[ _]required|account.{0,20}(suspended|deactivated|overdue)",
    re.IGNORECASE,
)


def remedy(message: str) -> str:
    """Return what to change, for an error message of a server, or an empty text."""
    return next((advice for pattern, advice in _PATTERNS if pattern.search(message)), "")


def has_no_money(status: int, message: str) -> bool:
    """Return whether a server refuses because the account has no money left. Waiting does not help."""
    return status == 402 or (status in (403, 429) and _NO_MONEY.search(message) is not None)
