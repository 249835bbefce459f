"""Remedies for refusals of model servers: the right one, or none for words that only look alike."""

from __future__ import annotations

import pytest

from holo_tasks.models.refusals import has_no_money, remedy


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("At most 1 image(s) may be provided in one request.", "image_budget"),
        ("At most 0 image(s) may be provided in one prompt.", "image encoder"),
        ("Image input is not supported. Reason: no projector", "image encoder"),
        ("unknown variant `image_url`, expected `text`", "image encoder"),
        ("gemma does not support thinking", "reasoning_effort"),
        ("image exceeds: at most 5 MB per image", ""),
        ("at most 5 MB per picture", ""),
        ("model 'llama-vision' not found, try pulling it first", ""),
        ("Failed to decode image: invalid base64", ""),
        ("invalid revision", ""),
    ],
)
def test_a_remedy_fits_the_message(message: str, advice: str) -> None:
    assert advice in remedy(message)
    assert bool(remedy(message)) is bool(advice)


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (429, "You exceeded your current quota, please check your plan and billing details. insufficient_quota", True),
        (429, "Rate limit reached: 3 / min. Try again in 20s. Add a payment method at example.com/billing", False),
        (429, "You exceeded your current quota, check your plan and billing details. Please retry in 21.7s.", False),
        (402, "no", True),
        (400, "billing", False),
    ],
)
def test_a_limit_that_passes_is_not_an_empty_account(status: int, message: str, expected: bool) -> None:
    assert has_no_money(status, message) is expected
