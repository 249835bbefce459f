"""Time-based one-time codes (RFC 6238) from a seed in base32, or from the address in a QR code."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import parse_qsl, urlsplit

from holo_tasks.core.errors import InvalidUsage

SHORTEST_BYTES = 10
"""Least length of a seed. A shorter one could be guessed; services give 10 to 64 bytes."""
SHORTEST_S, LONGEST_S = 15, 60
"""Least and largest period of a code in seconds. Nearly every service uses 30."""
LEFT_S = 3.0
"""Seconds that a code must still be valid for. Otherwise the next code is used."""
AHEAD = 3
"""Windows ahead of the current time. A later window was given out before the clock was set back, so it is ignored."""
_ALGORITHMS = ("SHA1", "SHA256", "SHA512")
_DIGITS = (6, 7, 8)
_MALFORMED_ADDRESS = "its address does not have the form otpauth://totp/…?secret=…"


@dataclass(frozen=True)
class Totp:
    """Generates the codes of a seed. Each is valid for one window of ``period_s`` seconds, counted from 1970."""

    seed: str = field(repr=False)
    digits: int = 6
    period_s: int = 30
    algorithm: str = "SHA1"

    @classmethod
    def read(cls, text: str, name: str) -> Totp:
        """Parse the seed of the secret ``name``: base32, or an ``otpauth://totp/…`` address.

        Raises `InvalidUsage` for anything else. The error does not quote the text.
        """
        text = text.strip()
        made = _from_address(text, name) if text.lower().startswith("otpauth:") else cls(_normalized(text))
        try:
            key = made._key
        except ValueError:
            raise _bad_seed(name, "it is not base32, which has the letters A to Z and the digits 2 to 7") from None
        if len(key) < SHORTEST_BYTES:
            raise _bad_seed(name, "it is shorter than the 16 letters that any service gives")
        if not SHORTEST_S <= made.period_s <= LONGEST_S:
            raise _bad_seed(name, f"its codes change after {made.period_s} s, not after {SHORTEST_S} to {LONGEST_S}")
        return made

    def window(self, at_s: float) -> int:
        """Return the number of the window at a time in seconds since 1970."""
        return int(at_s // self.period_s)

    def begins_s(self, window: int) -> float:
        """Return the start of a window in seconds since 1970."""
        return float(window * self.period_s)

    def code(self, window: int) -> str:
        """Return the code of a window (RFC 4226, section 5.3)."""
        digest = hmac.digest(self._key, window.to_bytes(8), self.algorithm.lower())
        start = digest[-1] & 0xF
        number = int.from_bytes(digest[start : start + 4]) & 0x7FFF_FFFF
        return f"{number % 10**self.digits:0{self.digits}}"

    def given(self, now_s: float, last: int, left_s: float) -> tuple[int, float]:
        """Return the next window to give out and the seconds until it begins, if ``last`` was given out before.

        The current window is used only if at least ``left_s`` seconds remain.
        """
        window = self.window(now_s)
        last = -1 if last > window + AHEAD else last
        late = self.begins_s(window + 1) - now_s < left_s
        free = max(last + 1, window + 1 if late else window)
        return free, max(0.0, self.begins_s(free) - now_s) if free > window else 0.0

    @property
    def identity(self) -> str:
        """A digest that identifies this seed without revealing it."""
        about = f"holo-totp {self.digits} {self.period_s} {self.algorithm} ".encode()
        return hashlib.sha256(about + self._key).hexdigest()

    def spellings(self) -> Iterator[str]:
        """Yield the seed in lower case in the usual notations: in one piece, in groups and in hexadecimal."""
        seed = self.seed.lower()
        yield seed
        for size in (4, 5, 8):
            groups = [seed[at : at + size] for at in range(0, len(seed), size)]
            yield from (sign.join(groups) for sign in (" ", "-", "\u00a0"))
        yield self._key.hex()

    @cached_property
    def _key(self) -> bytes:
        return base64.b32decode(self.seed + "=" * (-len(self.seed) % 8))


def _from_address(text: str, name: str) -> Totp:
    """Parse an address."""
    try:
        address = urlsplit(text)
        reported = dict(parse_qsl(address.query, strict_parsing=True))
        digits, period_s = int(reported.get("digits", 6)), int(reported.get("period", 30))
    except ValueError:
        raise _bad_seed(name, _MALFORMED_ADDRESS) from None
    algorithm = reported.get("algorithm", "SHA1").upper()
    if (
        address.netloc.lower() != "totp"
        or "encoder" in reported
        or algorithm not in _ALGORITHMS
        or digits not in _DIGITS
    ):
        raise _bad_seed(name, "its codes are not time-based codes of 6 to 8 digits (RFC 6238)")
    if "secret" not in reported:
        raise _bad_seed(name, _MALFORMED_ADDRESS)
    return Totp(_normalized(reported["secret"]), digits, period_s, algorithm)


def _normalized(seed: str) -> str:
    return "".join(seed.split()).replace("-", "").rstrip("=").upper()


def _bad_seed(name: str, why: str) -> InvalidUsage:
    return InvalidUsage(
        f"The secret {name!r} is not a seed of one-time codes: {why}. Give the key that the service shows, or the text "
        "in its QR code."
    )
