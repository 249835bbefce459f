"""Effects of a seed on a hostile program: the entry to file, the variant and time of the hazard, and the window's
position.

Does not import tkinter, so that tests and benchmarks can use it in any interpreter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

# Variants of each program. Seeds cycle through them; the last variant of each is harmless.
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

# Seconds until the hazard, or its duration. For popups and shift, about the time that a user thinks before a click.
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
    words: tuple[str, ...]  # words of the puzzle pictures, in order
    place: tuple[int, int]  # position of the window on the screen

    @property
    def harmless(self) -> bool:
        return self.variant == VARIANTS[self.kind][-1]


def plan(kind: str, seed: int) -> Plan:
    """Return the plan of a seed. It is the same in any process."""
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
