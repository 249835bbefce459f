"""How much a server bills beyond the requested tokens, so that later worst-case estimates hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from urllib.parse import urlsplit

KEPT_SHARE = 0.98
"""Share of an excess that stays expected after a bill without an excess, so that a repaired server regains trust."""
NEGLIGIBLE = 0.01
"""An excess of at most this share counts as none."""
RETEST_S = 300.0
"""Seconds after a bill that was too high, after which one call may be made alone although its expected bill exceeds the
budget.

Its bill shows whether the server still bills too much. If so, the next such call is made after as many seconds.
"""


@dataclass(frozen=True)
class Overbilling:
    """The factors by which a model's bills at an endpoint exceeded their bounds.

    ``prompt`` multiplies the most tokens that a prompt can have, and ``completion`` multiplies ``max_tokens``.
    ``longest`` is the length in tokens of the longest completion above its limit: such a server ignores the limit.
    """

    prompt: float = 1.0
    completion: float = 1.0
    longest: int = 0

    @classmethod
    def of_bill(cls, most_prompt: int, prompt: int, max_tokens: int, completion: int) -> Overbilling:
        """Return the excess that one bill shows."""
        return cls(
            max(1.0, prompt / max(1, most_prompt)),
            max(1.0, completion / max(1, max_tokens)),
            completion if completion > max_tokens else 0,
        )

    def after_bill(self, seen: Overbilling) -> Overbilling:
        """Return the expectation after one more bill."""
        completion = max(seen.completion, _reduced(self.completion))
        longest = max(seen.longest, self.longest) if completion > 1 else 0
        return Overbilling(max(seen.prompt, _reduced(self.prompt)), completion, longest)

    def after_clean_probe(self) -> Overbilling:
        """Return the expectation after a probe call that was billed without an excess: half of each excess."""
        completion = _reduced(self.completion, 0.5)
        return Overbilling(_reduced(self.prompt, 0.5), completion, self.longest // 2 if completion > 1 else 0)

    @property
    def is_expected(self) -> bool:
        """Whether bills are expected to exceed their bounds."""
        return self != Overbilling()

    def __str__(self) -> str:
        """Describe the server's excess and the bill to expect."""
        if self.longest:
            return f"has written more tokens than it was allowed, and may write {self.longest}"
        return f"has billed more tokens than a prompt can have, and may bill {self.prompt:.2f} times as many"

    def maximum_with(self, other: Overbilling) -> Overbilling:
        """Return the maximum of each factor."""
        return Overbilling(
            max(self.prompt, other.prompt), max(self.completion, other.completion), max(self.longest, other.longest)
        )

    def most_prompt(self, tokens: int) -> int:
        """Return the most prompt tokens that may be billed for a prompt of at most ``tokens`` tokens."""
        return math.ceil(tokens * self.prompt)

    def most_completion(self, max_tokens: int) -> int:
        """Return the most completion tokens that may be billed with this ``max_tokens``."""
        return max(math.ceil(max_tokens * self.completion), self.longest)

    def affordable_max_tokens(self, affordable: int) -> int:
        """Return the ``max_tokens`` with which at most ``affordable`` completion tokens are expected."""
        return int(affordable / self.completion) if affordable >= self.longest else 0


def _reduced(factor: float, share: float = KEPT_SHARE) -> float:
    excess = (factor - 1) * share
    return 1 + excess if excess > NEGLIGIBLE else 1.0


@dataclass(frozen=True)
class Quote:
    """The money and the known excess for the next call.

    ``headroom_micro`` is the money in micro-USD that shared budgets leave, or ``None`` without a limit. ``known`` is
    the excess that is expected of the server. ``probe`` is the id of the probe call if the next call is one, else
    empty. A probe call measures how the server bills. Until its bill, callers that do not know the excess or cannot
    afford it wait.
    """

    headroom_micro: int | None = None
    known: Overbilling = Overbilling()
    probe: str = ""


def meter_id(endpoint: str, model: str) -> str:
    """Return the identity of a billing meter: the model and its host, without private parts of the URL."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]} {model}"
