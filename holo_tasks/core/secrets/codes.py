"""The one-time codes that must be redacted: those of a run's seeds, and those that came by mail."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.secrets.totp import Totp

BEFORE, AFTER = 9, 2
"""Windows before and after the current one whose codes count as secret: clocks differ, and a screen shows old codes."""
TYPED_BEFORE, TYPED_AFTER = 2, 1
"""Windows around the current one from which a typed code may be. Their codes stay secret until the run ends."""
MOST_KEPT = 400
"""Most codes that are remembered. With 400 codes, a random six-digit number matches once in 2,500 times."""
_CANDIDATE = re.compile(r"(?<!\d)(?<!\d[.,])(?=(\d{3,5}[ \u00a0\u2009-]?\d{3,5})(?!\d)(?![.,]\d))")
"""Matches possible codes in a text, overlapping. Programs also show a code in two groups of digits."""


class Codes:
    """Knows the current codes, those of some minutes before, the next ones, and those that were typed or received."""

    def __init__(self, secrets: Iterable[Secret] = (), now_s: Callable[[], float] | None = None) -> None:
        """``now_s`` returns the time in seconds since 1970. It may be left out only if no secret is a seed."""
        self._seeds: dict[str, Totp] = {one.name: seed for one in secrets if (seed := one.seed) is not None}
        if self._seeds and now_s is None:
            raise ValueError("now_s is needed, because the codes of seeds depend on the time")
        self._now_s = now_s or (lambda: 0.0)
        self._kept: deque[tuple[str, str]] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()
        self._stale = False
        self.came = False
        """Whether a code was received that no seed makes. Such a code can be found on a screen only by OCR."""
        self._known: tuple[tuple[int, ...], Mapping[str, str]] = ((), MappingProxyType({}))

    def __bool__(self) -> bool:
        return bool(self._seeds or self._kept)

    def __repr__(self) -> str:
        return f"Codes({sorted(self._seeds)})"

    def known(self) -> Mapping[str, str]:
        """Return the codes that are secret now, each with the name of its seed or the name it was received under.

        The object stays the same until a code changes.
        """
        now_s = self._now_s()
        windows = tuple(seed.window(now_s) for seed in self._seeds.values())
        with self._lock:
            if self._stale or self._known[0] != windows:
                self._stale = False
                made = dict(self._kept) | self._codes_around(now_s, BEFORE, AFTER)
                self._known = windows, MappingProxyType(made)
            return self._known[1]

    def keep(self) -> None:
        """Keep the current codes secret from now on, because a code was typed."""
        if self._seeds:
            now_s = self._now_s()
            with self._lock:
                typed = self._codes_around(now_s, TYPED_BEFORE, TYPED_AFTER)
                self._remember(typed)

    def learn(self, name: str, code: str) -> None:
        """Keep a received code secret from now on, under this name."""
        with self._lock:
            self._remember({code: name})
            self._stale = self.came = True

    def _remember(self, codes: Mapping[str, str]) -> None:
        self._kept.extend(one for one in codes.items() if one not in self._kept)

    def places(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the codes in a text, each as its start, its end and its name."""
        known = self.known()
        for found in _CANDIDATE.finditer(text) if known else ():
            digits = "".join(filter(str.isdigit, found[1]))
            if (name := known.get(digits)) is not None:
                yield found.start(1), found.end(1), name
        for code, name in known.items():
            if not code.isdigit():
                for found in re.finditer(rf"(?<!\w){re.escape(code)}(?!\w)", text, re.IGNORECASE):
                    yield *found.span(), name

    def _codes_around(self, now_s: float, before: int, after: int) -> dict[str, str]:
        return {
            seed.code(window): name
            for name, seed in self._seeds.items()
            for window in range(max(0, seed.window(now_s) - before), seed.window(now_s) + after + 1)
        }


NO_CODES = Codes()
