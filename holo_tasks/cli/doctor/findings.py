"""What the doctor finds, and how it is told."""

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
"""Local servers are given keys such as "none", which are also words."""
LOGIN = re.compile(r"(?<=//)[^/\s@]+@")


@dataclass(frozen=True)
class Spent:
    """What a call took; ``micro_usd`` is what it cost, None when nobody knows, 0 for one that is free."""

    latency_ns: int
    micro_usd: int | None = 0

    def __str__(self) -> str:
        took = f"{self.latency_ns / 1e9:.2f} s"
        if self.micro_usd == 0:
            return took
        return f"{took}, {'cost unknown' if self.micro_usd is None else f'${self.micro_usd / 1e6:.6f}'}"


@dataclass(frozen=True)
class Finding:
    """What one check came to, in a sentence."""

    name: str
    status: Status
    message: str
    exit_code: int = 0
    spent: Spent | None = None

    def __str__(self) -> str:
        said = f"{self.status:<8} {self.name:<8} {self.message}"
        return f"{said} [{self.spent}]" if self.spent else said

    def described(self) -> dict[str, Any]:
        """Return plain values for the JSON object."""
        spent = self.spent
        return {
            "name": self.name,
            "status": self.status,
            "message": self.message,
            "latency_ms": spent.latency_ns // 1_000_000 if spent else None,
            "cost_usd": spent.micro_usd / 1e6 if spent and spent.micro_usd is not None else None,
        }


class Chain:
    """Checks that build upon each other, told in their order: once one has failed, the rest is skipped."""

    def __init__(self, names: Sequence[str], tell: Callable[[Finding], None]) -> None:
        self._open = list(names)
        self._tell = tell

    def ok(self, message: str, spent: Spent | None = None) -> None:
        """Tell that the next check went well."""
        self._next("ok", message, spent=spent)

    def warn(self, message: str, spent: Spent | None = None) -> None:
        """Tell that the next check went well, but."""
        self._next("warning", message, spent=spent)

    def tell(self, message: str, doubts: Sequence[str]) -> None:
        """Tell that the next check went well and, if there are doubts, what they are."""
        self._next("warning" if doubts else "ok", " ".join([message, *doubts]))

    def fail(self, error: HoloError, spent: Spent | None = None) -> None:
        """Tell that the next check failed; the checks after it may still be made."""
        self._next("failed", str(error), exit_code=error.exit_code, spent=spent)

    def stop(self, error: HoloError, spent: Spent | None = None) -> None:
        """Tell that the next check failed, and that those after it cannot be made."""
        why = f"Not tried, because {self._open[0]} failed: mend that first."
        self.fail(error, spent)
        while self._open:
            self._next("skipped", why)

    def _next(self, status: Status, message: str, *, exit_code: int = 0, spent: Spent | None = None) -> None:
        self._tell(Finding(self._open.pop(0), status, presentable(message), exit_code, spent))


def presentable(message: str) -> str:
    """Return a message as one printable line that ends like a sentence and holds no secret."""
    text = LOGIN.sub("", without_secrets(message))
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return text if text.endswith((".", "…", "?")) else f"{text}."


def without_secrets(text: str) -> str:
    """Return the text without any key that this machine uses: some servers repeat what they were sent."""
    for name in SECRETS:
        value = os.environ.get(name, "").strip()
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "…")
    return text
