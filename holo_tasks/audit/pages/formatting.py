"""Numbers, times and foreign text as people read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

STATUS_WORDS = {
    "answered": ("good", "Answered"),
    "invalid": ("bad", "Invalid"),
    "limit": ("warn", "Limit reached"),
    "needs_person": ("info", "Needs a person"),
    "refused": ("bad", "Refused"),
    "killed": ("bad", "Killed"),
    "model_failed": ("bad", "Model failed"),
    "desktop_failed": ("bad", "Desktop failed"),
    "unavailable": ("warn", "Unavailable"),
    "interrupted": ("warn", "Interrupted"),
    "running": ("info", "Running"),
}
OUTCOME_WORDS = {
    "changed": ("good", "Screen changed"),
    "elsewhere": ("warn", "Changed elsewhere"),
    "unchanged": ("warn", "No change"),
    "unsettled": ("warn", "Still changing"),
    "wrong_state": ("bad", "Wrong state"),
    "looked_again": ("warn", "Looked again"),
    "answered": ("info", "Answered"),
    "looked": ("", "No action"),
    "handoff": ("info", "Asked a person"),
    "refused": ("bad", "Refused"),
    "failed": ("bad", "Failed"),
    "undecided": ("warn", "No decision"),
}

_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)
"""Also what turns the direction of text around, for a name must not be able to read as another one, and what stands for
bytes that are no UTF-8, which could not be written."""


def visible(text: str) -> str:
    """Text with its control characters made visible."""
    return _CONTROL.sub("\ufffd", text)


def money(micro_usd: int | None) -> str:
    """Dollars with as many decimals as matter."""
    if micro_usd is None:
        return "unknown"
    dollars = micro_usd / 1e6
    if micro_usd == 0 or abs(dollars) >= 1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if abs(dollars) >= 0.0001 else f"${dollars:.6f}"


def duration(seconds: float) -> str:
    """A time span from milliseconds to hours."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def moment(at: str) -> datetime | None:
    """A recorded time, in UTC, which is meant where it names no zone; None if it is no time."""
    try:
        found = datetime.fromisoformat(at)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def clock(at: str, *, date: bool = False) -> str:
    """A recorded time, in UTC, to the second; nothing if it is no time."""
    found = moment(at)
    if found is None:
        return ""
    return f"{found:%-d %B %Y, %H:%M:%S} UTC" if date else f"{found:%H:%M:%S}"


def until(at: str, *, now: datetime | None = None, stays: bool = False) -> str:
    """``until 14:05 UTC (in 5 min)``, with the day where it is another one; without ``now`` it is the present time.

    Of what ``stays`` to be read later, the day is told and not how long it is from now. What is no time is said as it
    is.
    """
    end, now = moment(at), now or datetime.now(UTC)
    if end is None:
        return f"until {at}"
    day = f" on {end:%-d %B}" if stays or end.date() != now.date() else ""
    return f"until {end:%H:%M} UTC{day}" + ("" if stays else f" ({_from_now((end - now).total_seconds())})")


def _from_now(seconds: float) -> str:
    if seconds < 60:
        return f"in {max(0, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"in {minutes} min"
    hours = round(minutes / 60)
    return f"in {hours} h" if hours < 48 else f"in {round(hours / 24)} days"


def kinds(found: Sequence[str]) -> str:
    """``2 × email, 1 × card``, the most frequent first."""
    return ", ".join(f"{number} × {kind}" for kind, number in Counter(found).most_common())


def count(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``13th``."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"
