"""The one-time codes that count as secret: of the seeds that a run was given, and those that came by mail."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from holo_tasks.core.secret import Secret
from holo_tasks.core.totp import Totp

BEFORE, AFTER = 9, 2
"""The codes of so many windows before and after this one are kept private: clocks differ, and a screen stays."""
TYPED_BEFORE, TYPED_AFTER = 2, 1
"""When a code was typed it was that of one of these windows, which is kept private for good."""
MOST_KEPT = 400
"""A number of six digits is one of so many codes by chance once in 2,500 times."""
_CANDIDATE = re.compile(r"(?<!\d)(?<!\d[.,])(?=(\d{3,5}[ \u00a0\u2009-]?\d{3,5})(?!\d)(?![.,]\d))")
"""What may be a code in a text, overlapping: programs show it in two groups, too."""


class Codes:
    """Knows the codes of now, of some minutes before, of the next ones, and those that were typed."""

    def __init__(self, secrets: Iterable[Secret] = (), now_s: Callable[[], float] | None = None) -> None:
        """``now_s`` is the time of day in seconds since 1970; it can be left out only where no secret is a seed."""
        self._seeds: dict[str, Totp] = {one.name: seed for one in secrets if (seed := one.seed) is not None}
        if self._seeds and now_s is None:
            raise ValueError("codes are made by the time: a clock is needed")
        self._now_s = now_s or (lambda: 0.0)
        self._kept: deque[tuple[str, str]] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()
        self._stale = False
        self.came = False
        """Whether one came that no seed makes: only by reading is it found on a screen."""
        self._known: tuple[tuple[int, ...], Mapping[str, str]] = ((), MappingProxyType({}))

    def __bool__(self) -> bool:
        return bool(self._seeds or self._kept)

    def __repr__(self) -> str:
        return f"Codes({sorted(self._seeds)})"

    def known(self) -> Mapping[str, str]:
        """Return what counts as secret now: the seed's name by its code. It is the same value until it changes."""
        now_s = self._now_s()
        windows = tuple(seed.window(now_s) for seed in self._seeds.values())
        with self._lock:
            if self._stale or self._known[0] != windows:
                self._stale = False
                made = dict(self._kept) | self._around(now_s, BEFORE, AFTER)
                self._known = windows, MappingProxyType(made)
            return self._known[1]

    def keep(self) -> None:
        """A code was typed just now: it stays secret for good."""
        if self._seeds:
            now_s = self._now_s()
            with self._lock:
                typed = self._around(now_s, TYPED_BEFORE, TYPED_AFTER)
                self._keep(typed)

    def learn(self, name: str, code: str) -> None:
        """A code came, which is called so: it is secret for good."""
        with self._lock:
            self._keep({code: name})
            self._stale = self.came = True

    def _keep(self, codes: Mapping[str, str]) -> None:
        self._kept.extend(one for one in codes.items() if one not in self._kept)

    def places(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Return where codes stand in a text, as places and names of seeds."""
        known = self.known()
        for found in _CANDIDATE.finditer(text) if known else ():
            digits = "".join(filter(str.isdigit, found[1]))
            if (name := known.get(digits)) is not None:
                yield found.start(1), found.end(1), name
        for code, name in known.items():
            if not code.isdigit():
                for found in re.finditer(rf"(?<!\w){re.escape(code)}(?!\w)", text, re.IGNORECASE):
                    yield *found.span(), name

    def _around(self, now_s: float, before: int, after: int) -> dict[str, str]:
        return {
            seed.code(window): name
            for name, seed in self._seeds.items()
            for window in range(max(0, seed.window(now_s) - before), seed.window(now_s) + after + 1)
        }


NO_CODES = Codes()
