"""What a rule of a contract is, and how rules are kept so that each can be named and tested alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Transport: TypeAlias = Literal["structured_outputs", "response_format"]
Body: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Terms:
    """What differs between servers and models that speak this contract."""

    transport: Transport = "structured_outputs"
    temperature: float | None = 0.8
    images: int = 3


STANDARD = Terms()


@dataclass(frozen=True)
class Rule:
    """One sentence of the contract."""

    id: str
    sentence: str


@dataclass(frozen=True)
class Breach:
    """A rule, and where the request breaks it."""

    rule: Rule
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.rule.id}: {self.rule.sentence}" + (f" ({self.detail})" if self.detail else "")


Check: TypeAlias = Callable[[Body, Terms], Iterator[str]]


@dataclass(frozen=True)
class RuleBook:
    """Rules in their order, each with the check that yields what breaks it."""

    checks: list[tuple[Rule, Check]] = field(default_factory=list)

    def rule(self, id_: str, sentence: str) -> Callable[[Check], Check]:
        """Add the decorated check under an id."""

        def register(check: Check) -> Check:
            self.checks.append((Rule(id_, sentence), check))
            return check

        return register

    def breaches(self, body: Body, terms: Terms) -> list[Breach]:
        """Return what a request breaks, at most one breach a rule."""
        first = ((rule, next(check(body, terms), None)) for rule, check in self.checks)
        return [Breach(rule, detail) for rule, detail in first if detail is not None]
