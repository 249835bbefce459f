"""The cost of tokens in integer micro-USD."""

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
    """Price in USD per million tokens, which is also micro-USD per token.

    Cached input tokens cost ``cached``, or as much as other input tokens if ``cached`` is ``None``.
    """

    input: Decimal
    output: Decimal
    cached: Decimal | None = None

    def of(self, usage: Usage) -> int:
        """Return the cost in micro-USD, rounded up so that a limit is never exceeded by rounding."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        rate = self.input if self.cached is None else self.cached
        total = (usage.prompt_tokens - cached) * self.input + cached * rate + usage.completion_tokens * self.output
        return int(total.to_integral_value(rounding=ROUND_CEILING))

    def most(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the highest possible cost in micro-USD; cached tokens may be the more expensive ones."""
        return max(self.of(Usage(prompt_tokens, completion_tokens, cached)) for cached in (0, prompt_tokens))


def image_tokens(width: int, height: int) -> int:
    """Return the number of tokens of an image for the Qwen3-VL family, including its two markers.

    The family's preprocessor ("smart resize") rounds sides to multiples of 32 and keeps the area within [65,536;
    16,777,216] pixels.
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
    """Format an amount in micro-USD as dollars; ``None`` as "unknown"."""
    return "unknown" if micro is None else f"${Decimal(micro) / 1_000_000:.4f}"
