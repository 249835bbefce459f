"""Format numbers, times and untrusted text for people. Used by pages, the command line and hand-offs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

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
    "elsewhere": ("info", "Changed elsewhere"),
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
"""Control characters. Includes bidirectional controls, which can disguise a name, and surrogates, which cannot be
written as UTF-8."""


def visible(text: str) -> str:
    """Replace control characters in a text with U+FFFD."""
    return _CONTROL.sub("\ufffd", text)


def money(micro_usd: int | None) -> str:
    """Format an amount in dollars with as many decimals as matter. ``None`` becomes ``unknown``."""
    if micro_usd is None:
        return "unknown"
    dollars = micro_usd / 1e6
    if micro_usd == 0 or abs(dollars) >= 1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if abs(dollars) >= 0.0001 else f"${dollars:.6f}"


def duration(seconds: float) -> str:
    """Format a time span, from milliseconds to hours."""
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
    """Parse a recorded time as UTC, which is assumed without a time zone. Returns ``None`` if it is not a time."""
    try:
        found = datetime.fromisoformat(at)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def clock(at: str, *, date: bool = False) -> str:
    """Format a recorded time in UTC to the second. Returns an empty string if it is not a time."""
    found = moment(at)
    if found is None:
        return ""
    return f"{found:%-d %B %Y, %H:%M:%S} UTC" if date else f"{found:%H:%M:%S}"


def until(at: str, *, now: datetime | None = None, stays: bool = False) -> str:
    """Format a time limit as ``until 14:05 UTC (in 5 min)``, with the day if it is not today. ``now`` defaults to the
    current time.

    ``stays`` is for text that is read later: it has the day, and no time span from now. Text that is not a time is
    returned unchanged.
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


MAX_VALUES = 200
"""Rows of a table of values. The trace has every row."""


class _Object(list[tuple[str, object]]):
    """A JSON object as pairs, because its names may be repeated."""


def named_values(text: str, *, separator: str = "\n") -> list[tuple[str, str]]:
    """Return the names and values of a JSON object or list. Returns an empty list if the text is neither.

    A nested value has a name such as ``lines 2 · amount``. ``separator`` is between the plain values of a list. Numbers
    are returned in their written form.
    """
    if not text.lstrip().startswith(("{", "[")):
        return []
    try:
        value = json.loads(text, object_pairs_hook=_Object, parse_float=str, parse_int=str, parse_constant=str)
        rows = list(islice(_flat(value, "", separator), MAX_VALUES + 1))
    except (ValueError, RecursionError):
        return []
    return rows if len(rows) <= MAX_VALUES else [*rows[:MAX_VALUES], ("…", "More values are in the trace.")]


def listed(text: str) -> str:
    """Format a JSON object or list as one line, ``status: cleared; amount: 48.20``. Returns other text unchanged."""
    rows = named_values(text, separator=", ")
    return "; ".join(f"{name}: {value}" if name else value for name, value in rows) or text


def _flat(value: object, name: str, separator: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, _Object) and value:
        for key, inner in value:
            yield from _flat(inner, f"{name} · {key}" if name else key, separator)
    elif isinstance(value, list) and any(isinstance(each, list) for each in value):
        for number, inner in enumerate(value, start=1):
            yield from _flat(inner, f"{name} {number}".lstrip(), separator)
    elif isinstance(value, list):
        yield name, separator.join(map(_one_value, value)) or "none"
    else:
        yield name, _one_value(value)


def _one_value(value: object) -> str:
    named = {True: "yes", False: "no", None: "none"}
    return named[value] if value is None or isinstance(value, bool) else str(value) or "(empty)"


def kind_counts(found: Sequence[str]) -> str:
    """Format kinds with their counts, most frequent first: ``2 × email, 1 × card``."""
    return ", ".join(f"{number} × {kind}" for kind, number in Counter(found).most_common())


def count(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 step``, ``2 steps``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """Format an ordinal number: ``1st``, ``2nd``, ``13th``."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"
