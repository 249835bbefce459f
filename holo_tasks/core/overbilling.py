"""What a server has billed beyond what it was asked for, so that the next worst case holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from urllib.parse import urlsplit

EASES = 0.98
"""How much of an excess is still expected after a bill without one: a server that was mended is trusted again."""
LITTLE = 0.01
ALONE_S = 300.0
"""How long after a bill that was too high a call that cannot afford another one may see whether there still are such.
A server that goes on so gets one call over a budget in that time."""


@dataclass(frozen=True)
class Overbilling:
    """By how much the bills of a model at an endpoint were higher than what bounds them.

    ``prompt`` is a factor on the most tokens that a prompt can have, ``completion`` one on ``max_tokens``, and
    ``longest`` the tokens of the longest completion that was longer than allowed: such a server does not write less
    because it is allowed less.
    """

    prompt: float = 1.0
    completion: float = 1.0
    longest: int = 0

    @classmethod
    def of(cls, most_prompt: int, prompt: int, max_tokens: int, completion: int) -> Overbilling:
        """Return what one bill tells."""
        return cls(
            max(1.0, prompt / max(1, most_prompt)),
            max(1.0, completion / max(1, max_tokens)),
            completion if completion > max_tokens else 0,
        )

    def after(self, seen: Overbilling) -> Overbilling:
        """Return what is to be expected after one more bill."""
        completion = max(seen.completion, _eased(self.completion))
        longest = max(seen.longest, self.longest) if completion > 1 else 0
        return Overbilling(max(seen.prompt, _eased(self.prompt)), completion, longest)

    def halved(self) -> Overbilling:
        """Return what is to be expected after a bill without an excess where it was asked for."""
        completion = _eased(self.completion, 0.5)
        return Overbilling(_eased(self.prompt, 0.5), completion, self.longest // 2 if completion > 1 else 0)

    @property
    def any(self) -> bool:
        """Whether more is expected on a bill than what bounds it."""
        return self != Overbilling()

    def __str__(self) -> str:
        """Say what the server has done, and what is expected of it."""
        if self.longest:
            return f"has written more tokens than it was allowed, and may write {self.longest}"
        return f"has billed more tokens than a prompt can have, and may bill {self.prompt:.2f} times as many"

    def or_more(self, other: Overbilling) -> Overbilling:
        """Return the higher of each."""
        return Overbilling(
            max(self.prompt, other.prompt), max(self.completion, other.completion), max(self.longest, other.longest)
        )

    def most_prompt(self, tokens: int) -> int:
        """Return the most prompt tokens there may be on the bill of a prompt that has so many at the most."""
        return math.ceil(tokens * self.prompt)

    def most_completion(self, max_tokens: int) -> int:
        """Return the most completion tokens there may be on the bill where so many are allowed."""
        return max(math.ceil(max_tokens * self.completion), self.longest)

    def allowed(self, affordable: int) -> int:
        """Return the ``max_tokens`` of which no more than ``affordable`` completion tokens are to be expected."""
        return int(affordable / self.completion) if affordable >= self.longest else 0


def _eased(factor: float, share: float = EASES) -> float:
    excess = (factor - 1) * share
    return 1 + excess if excess > LITTLE else 1.0


@dataclass(frozen=True)
class Quote:
    """What a call is made on: the micro-USD that shared budgets leave, None where none limits money, and what is known.

    ``first`` names the call that is to find out how its server bills: until it has a bill, nobody else asks who does
    not know what to expect, or cannot afford it.
    """

    headroom_micro: int | None = None
    known: Overbilling = Overbilling()
    first: str = ""


def meter(endpoint: str, model: str) -> str:
    """Name what bills alike: a model at a host, without anything private that a URL may have in it."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]} {model}"
