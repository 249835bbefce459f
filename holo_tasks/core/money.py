"""What tokens cost, in integer micro-USD."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal


@dataclass(frozen=True)
class Usage:
    """Tokens on a bill, as the server counted them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True)
class Price:
    """USD per million tokens, which is also micro-USD per token.

    Cached input tokens cost ``cached``; where no such price is known they cost as much as others.
    """

    input: Decimal
    output: Decimal
    cached: Decimal | None = None

    def of(self, usage: Usage) -> int:
        """Return the bill in micro-USD, rounded up: a guardrail must not round in its own favor."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        rate = self.input if self.cached is None else self.cached
        total = (usage.prompt_tokens - cached) * self.input + cached * rate + usage.completion_tokens * self.output
        return int(total.to_integral_value(rounding=ROUND_CEILING))

    def most(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the highest bill there can be for so many tokens, in micro-USD: cached ones may be the dearer ones."""
        return max(self.of(Usage(prompt_tokens, completion_tokens, cached)) for cached in (0, prompt_tokens))


def image_tokens(width: int, height: int) -> int:
    """Count the tokens of an image for the Qwen3-VL family, its two markers included.

    Sides are rounded to multiples of 32 and the area is kept within [65,536; 16,777,216] pixels.
    Source: the family's own preprocessor ("smart resize").
    """
    wide, high = _to_grid(width), _to_grid(height)
    if wide * high > 16_777_216:
        shrink = (width * height / 16_777_216) ** 0.5
        wide, high = _floor_grid(width / shrink), _floor_grid(height / shrink)
    elif wide * high < 65_536:
        grow = (65_536 / (width * height)) ** 0.5
        wide, high = _ceil_grid(width * grow), _ceil_grid(height * grow)
    return (wide // 32) * (high // 32) + 2


def _to_grid(side: float) -> int:
    return max(32, round(side / 32) * 32)


def _floor_grid(side: float) -> int:
    return max(32, int(side // 32) * 32)


def _ceil_grid(side: float) -> int:
    return -int(-side // 32) * 32


def usd(micro: int | None) -> str:
    """Write an amount for people; an unknown one is said to be unknown."""
    return "unknown" if micro is None else f"${Decimal(micro) / 1_000_000:.4f}"
