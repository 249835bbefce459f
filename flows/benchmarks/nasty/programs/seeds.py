"""What a seed decides about a nasty program: the entry to file, how it goes wrong, when, and where on the screen.

No tkinter here, so tests and benchmarks can ask in any interpreter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

# How each program may go wrong. The seed counts through them; the last of each does no harm to anyone.
VARIANTS = {
    "popups": ("over the submit button", "over the first field", "over the submit button", "aside"),
    "shift": ("when complete", "when opened", "when complete", "below"),
    "deaf": ("submit", "new entry", "both", "none"),
    "double": ("unguarded", "unguarded", "unguarded", "guarded"),
    "expiry": ("while filling", "submit lost", "after seconds", "submit filed", "never"),
    "puzzle": ("gate", "gate", "gate", "open"),
    "frozen": ("before filing", "after filing", "for ever, not filed", "for ever, filed", "blink"),
    "lookalike": ("filled", "empty", "filled", "plain"),
    "spinner": ("until Esc, filed", "until Esc, not filed", "for ever, not filed", "ends"),
}
KINDS = tuple(VARIANTS)

# Seconds until it happens, or for which it lasts; for popups and the shift about as long as one thinks before a click.
DELAYS_S = {
    "popups": (0.3, 1.5),
    "shift": (0.4, 1.6),
    "deaf": (0.0, 0.0),
    "double": (2.0, 5.0),
    "expiry": (1.0, 4.0),
    "puzzle": (0.0, 0.0),
    "frozen": (6.0, 12.0),
    "lookalike": (0.0, 0.0),
    "spinner": (2.0, 4.0),
}

REASONS = ("Wrong amount", "Unknown merchant", "Duplicate receipt", "No receipt", "Late claim")
WORDS = ("MAPLE", "ROCKET", "HELMET", "FALCON", "PEANUT", "WALNUT", "TUNNEL", "SHOWER", "PLANET", "TEAPOT")


@dataclass(frozen=True)
class Entry:
    reference: str
    amount: str
    reason: str


@dataclass(frozen=True)
class Plan:
    kind: str
    seed: int
    variant: str
    delay_s: float
    entry: Entry
    words: tuple[str, ...]  # of the puzzle pictures, in the order shown
    place: tuple[int, int]  # of the window on the screen

    @property
    def harmless(self) -> bool:
        return self.variant == VARIANTS[self.kind][-1]


def plan(kind: str, seed: int) -> Plan:
    """The same for the same seed, in any process."""
    draw = random.Random(f"{kind} {seed}")
    entry = Entry(
        reference=f"AB-{draw.randrange(10000, 100000)}",
        amount=f"{draw.randrange(1000, 90000) / 100:.2f}",
        reason=draw.choice(REASONS),
    )
    return Plan(
        kind=kind,
        seed=seed,
        variant=VARIANTS[kind][seed % len(VARIANTS[kind])],
        delay_s=round(draw.uniform(*DELAYS_S[kind]), 3),
        entry=entry,
        words=tuple(draw.sample(WORDS, 5)),
        place=(draw.randrange(20, 400), draw.randrange(50, 180)),
    )
