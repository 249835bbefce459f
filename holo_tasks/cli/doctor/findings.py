"""Findings of the doctor's checks, and their text. `Chain` collects them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from holo_tasks.core.errors import HoloError

Status: TypeAlias = Literal["ok", "warning", "failed", "skipped"]

SECRETS = ("HAI_API_KEY", "HOLO_API_KEY", "PREFECT_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
SHORTEST_SECRET = 6
"""Shorter keys stay in messages: local servers accept keys such as "none", which are also words."""
LOGIN = re.compile(r"(?<=//)[^/\s@]+@")


@dataclass(frozen=True)
class Spent:
    """Time and cost of a call. ``micro_usd`` is ``None`` if the cost is unknown, and 0 for a free call."""

    latency_ns: int
    micro_usd: int | None = 0

    def __str__(self) -> str:
        took = f"{self.latency_ns / 1e9:.2f} s"
        if self.micro_usd == 0:
            return took
        return f"{took}, {'cost unknown' if self.micro_usd is None else f'${self.micro_usd / 1e6:.6f}'}"


@dataclass(frozen=True)
class Finding:
    """The result of one check, with a sentence for people."""

    name: str
    status: Status
    message: str
    exit_code: int = 0
    spent: Spent | None = None

    def __str__(self) -> str:
        said = f"{self.status:<8} {self.name:<8} {self.message}"
        return f"{said} [{self.spent}]" if self.spent else said

    def described(self) -> dict[str, Any]:
        """Return the fields of this finding in the JSON object."""
        spent = self.spent
        return {
            "name": self.name,
            "status": self.status,
            "message": self.message,
            "latency_ms": spent.latency_ns // 1_000_000 if spent else None,
            "cost_usd": spent.micro_usd / 1e6 if spent and spent.micro_usd is not None else None,
        }


class Chain:
    """Checks that depend on each other, reported in order. `stop` skips the rest."""

    def __init__(self, names: Sequence[str], tell: Callable[[Finding], None]) -> None:
        self._open = list(names)
        self._tell = tell

    def ok(self, message: str, spent: Spent | None = None) -> None:
        """Report success of the next check."""
        self._next("ok", message, spent=spent)

    def warn(self, message: str, spent: Spent | None = None) -> None:
        """Report success of the next check with a warning."""
        self._next("warning", message, spent=spent)

    def tell(self, message: str, doubts: Sequence[str]) -> None:
        """Report success of the next check, as a warning if there are doubts."""
        self._next("warning" if doubts else "ok", " ".join([message, *doubts]))

    def fail(self, error: HoloError, spent: Spent | None = None) -> None:
        """Report failure of the next check. The checks after it may still run."""
        self._next("failed", str(error), exit_code=error.exit_code, spent=spent)

    def stop(self, error: HoloError, spent: Spent | None = None) -> None:
        """Report failure of the next check, and skip the checks after it."""
        why = f"Not tried, because {self._open[0]} failed: fix that first."
        self.fail(error, spent)
        while self._open:
            self._next("skipped", why)

    def _next(self, status: Status, message: str, *, exit_code: int = 0, spent: Spent | None = None) -> None:
        self._tell(Finding(self._open.pop(0), status, presentable(message), exit_code, spent))


def presentable(message: str) -> str:
    """Return a message as one printable line that ends like a sentence, without secrets and log-ins."""
    text = LOGIN.sub("", without_secrets(message))
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return text if text.endswith((".", "…", "?")) else f"{text}."


def without_secrets(text: str) -> str:
    """Return the text without the keys in the environment. Some servers repeat a key in their reply."""
    for name in SECRETS:
        value = os.environ.get(name, "").strip()
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "…")
    return text
