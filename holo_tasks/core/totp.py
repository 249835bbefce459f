"""One-time codes by time (RFC 6238), of the seed that a service gives: base32, or the address behind a QR code."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from holo_tasks.core.errors import InvalidUsage

if TYPE_CHECKING:
    from pyotp import TOTP

SHORTEST_BYTES = 10
"""A shorter seed could be found by trying all there are; services give 10 to 64."""
SHORTEST_S, LONGEST_S = 15, 60
"""A code is good for so many seconds: 30 with nearly every service."""
LEFT_S = 3.0
"""A code that is good for less than this is not begun with: the next one is waited for."""
AHEAD = 3
"""What was given out for windows further ahead than this was so before the clock was set back."""
_ALGORITHMS = ("SHA1", "SHA256", "SHA512")
_DIGITS = (6, 7, 8)
_NO_ADDRESS = "its address is not one of the form otpauth://totp/…?secret=…"


@dataclass(frozen=True)
class Totp:
    """Makes the codes of a seed; each is good for one window of ``period_s`` seconds, counted from 1970 on."""

    seed: str = field(repr=False)
    digits: int = 6
    period_s: int = 30
    algorithm: str = "SHA1"

    @classmethod
    def read(cls, text: str, name: str) -> Totp:
        """Read what a service gives for the secret called ``name``: base32, or an ``otpauth://totp/…`` address.

        Raises `InvalidUsage`, without the text, for anything else.
        """
        text = text.strip()
        made = _from_address(text, name) if text.lower().startswith("otpauth:") else cls(_plain(text))
        try:
            key = base64.b32decode(made.seed + "=" * (-len(made.seed) % 8))
        except ValueError:
            raise _no_seed(name, "it is not base32, which has the letters A to Z and the digits 2 to 7") from None
        if len(key) < SHORTEST_BYTES:
            raise _no_seed(name, "it is shorter than the 16 letters that any service gives")
        if not SHORTEST_S <= made.period_s <= LONGEST_S:
            raise _no_seed(name, f"its codes change after {made.period_s} s, not after {SHORTEST_S} to {LONGEST_S}")
        return made

    def window(self, at_s: float) -> int:
        """Return which window a time is in, in seconds since 1970."""
        return int(at_s // self.period_s)

    def begins_s(self, window: int) -> float:
        """Return when a window begins, in seconds since 1970."""
        return float(window * self.period_s)

    def code(self, window: int) -> str:
        """Return the code of a window."""
        return self._maker.generate_otp(window)

    def given(self, now_s: float, last: int, left_s: float) -> tuple[int, float]:
        """Return the window to be given out next, and in how many seconds, where ``last`` was the last one.

        It has ``left_s`` left, or is waited for.
        """
        window = self.window(now_s)
        last = -1 if last > window + AHEAD else last
        late = self.begins_s(window + 1) - now_s < left_s
        free = max(last + 1, window + 1 if late else window)
        return free, max(0.0, self.begins_s(free) - now_s) if free > window else 0.0

    @property
    def identity(self) -> str:
        """What tells this seed from others, and does not tell the seed."""
        about = f"holo-totp {self.digits} {self.period_s} {self.algorithm} ".encode()
        return hashlib.sha256(about + self._maker.byte_secret()).hexdigest()

    def spellings(self) -> Iterator[str]:
        """Return the seed as services and programs write it, in small letters: together, and in groups."""
        seed = self.seed.lower()
        yield seed
        for size in (4, 5, 8):
            groups = [seed[at : at + size] for at in range(0, len(seed), size)]
            yield from (sign.join(groups) for sign in (" ", "-", "\u00a0"))
        yield self._maker.byte_secret().hex()

    @cached_property
    def _maker(self) -> TOTP:
        from pyotp import TOTP  # few runs have a seed, and all know of them

        class Maker(TOTP):
            """Makes codes of the shorter seeds, too, that services have given for years and still know."""

            min_secret_length_bits = SHORTEST_BYTES * 8

        digest = getattr(hashlib, self.algorithm.lower())
        return Maker(self.seed, digits=self.digits, digest=digest, interval=self.period_s)


def _from_address(text: str, name: str) -> Totp:
    """Read an address; `pyotp.parse_uri` reads none of a shorter seed."""
    try:
        address = urlsplit(text)
        told = dict(parse_qsl(address.query, strict_parsing=True))
        digits, period_s = int(told.get("digits", 6)), int(told.get("period", 30))
    except ValueError:
        raise _no_seed(name, _NO_ADDRESS) from None
    algorithm = told.get("algorithm", "SHA1").upper()
    if address.netloc.lower() != "totp" or "encoder" in told or algorithm not in _ALGORITHMS or digits not in _DIGITS:
        raise _no_seed(name, "its codes are not of 6 to 8 digits that are made by the time (RFC 6238)")
    if "secret" not in told:
        raise _no_seed(name, _NO_ADDRESS)
    return Totp(_plain(told["secret"]), digits, period_s, algorithm)


def _plain(seed: str) -> str:
    return "".join(seed.split()).replace("-", "").rstrip("=").upper()


def _no_seed(name: str, why: str) -> InvalidUsage:
    return InvalidUsage(
        f"The secret {name!r} is no seed of one-time codes: {why}. Give what the service shows as its key or behind "
        "its QR code."
    )
