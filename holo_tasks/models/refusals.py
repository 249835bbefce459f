"""Remedies for a model server's refusals, by the words of its error message.

The client adds them to errors of a run, and `holo-tasks doctor` to its findings.
"""

from __future__ import annotations

import re

from holo_tasks.models.profile import PROFILES_VARIABLE

IN_A_PROFILE = f"in a profile of this model ({PROFILES_VARIABLE})"
BLIND = "it may not receive pictures: serve it with its image encoder (llama.cpp: --mmproj)"
_REMEDIES = (
    # A wrong name of the model, or a picture that is damaged: no field of the profile helps.
    (r"model.{0,100}(not found|does not exist)|(decode|corrupt|base64).{0,40}image|image.{0,40}(corrupt|base64)", ""),
    (r"\bat most 0 image", BLIND),
    (
        # vLLM: "At most 1 image(s) may be provided in one request", "You set image=1 (or defaulted to 1) in ..."
        r"\b(at most|more than|only|maximum( of)?|up to|set image=)\D{0,12}\d+"
        r"(?!\s*([kmg]?i?b|bytes|pixels|px|tokens)\b)\D{0,12}(images?|pictures?|multi-?modal|\(or defaulted)|"
        r"limit.mm.per.prompt",
        f"set image_budget = 1 {IN_A_PROFILE}, or let the server accept more pictures (vLLM: --limit-mm-per-prompt)",
    ),
    (
        r"context.(length|size|window|limit)|maximum context|n_ctx|prompt.{0,20}too (long|large)|"
        r"too many (input )?tokens|input.{0,20}too long|max_model_len",
        f"set context_tokens to the server's real limit {IN_A_PROFILE}, or give the server a larger context",
    ),
    (
        r"reasoning.?effort|support\w*.{0,30}\b(think(ing)?|reasoning)\b|"
        r"\b(think(ing)?|reasoning)\b.{0,30}(not|un)\W?support",
        f'set reasoning_effort = "default" {IN_A_PROFILE}; if that does not help, thinking = "default" as well',
    ),
    (
        r"chat_template_kwargs|enable_thinking",
        f'set thinking = "default" {IN_A_PROFILE}',
    ),
    (r"\bimages?\b.{0,40}\btoo (large|big|small)|\bimages?\b.{0,40}exceed", ""),
    (r"image|multi-?modal|\bvision|mmproj|content part", BLIND),
    (
        r"structured_outputs|response_format|json_schema|grammar",
        f"set another schema_transport {IN_A_PROFILE}",
    ),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), remedy) for pattern, remedy in _REMEDIES)
_NO_MONEY = re.compile(
    r"insufficient[ _](quota|balance|funds|credit)|out of credits?|credit balance|payment[ _]required|"
    r"account.{0,20}(suspended|deactivated|overdue)",
    re.IGNORECASE,
)
_MAYBE_NO_MONEY = re.compile(r"exceeded your current quota|billing", re.IGNORECASE)
_RATE = re.compile(r"\b(try again|retry) (in|after)\b|\b(per|/) ?(sec|min|hour|day)|rate.?limit", re.IGNORECASE)
"""Words of limits that pass. Their messages often name the billing page, where a higher limit is sold."""


def remedy(message: str) -> str:
    """Return what to change, for an error message of a server, or an empty text."""
    return next((advice for pattern, advice in _PATTERNS if pattern.search(message)), "")


def has_no_money(status: int, message: str) -> bool:
    """Return whether a server refuses because the account has no money left. Waiting does not help."""
    if status not in (403, 429):
        return status == 402
    maybe = _MAYBE_NO_MONEY.search(message) and not _RATE.search(message)
    return bool(maybe or _NO_MONEY.search(message))
