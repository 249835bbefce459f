"""Rules of the contract between this library's requests and a model's server, and their breaches.

Each rule has an id, so that it can be named and tested alone. `rehearsal` and the tests check requests by `all_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

Dialect: TypeAlias = Literal["structured", "tools", "holotron", "localize"]
Transport: TypeAlias = Literal["structured_outputs", "response_format", "json_object"]
Body: TypeAlias = Mapping[str, Any]
Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Terms:
    """The settings in which servers and models with this contract differ.

    ``temperature`` applies to requests for a step. Holotron and localizations have fixed temperatures in their rules.
    ``images`` is the largest number of pictures in a request. ``preserve_thinking`` is true for models that
    see their earlier reasoning. ``key`` is the bearer key of the server, and ``None`` if the server needs no key.
    """

    transport: Transport = "structured_outputs"
    temperature: float | None = 0.8
    images: int = 3
    dialect: Dialect = "structured"
    tool_choice: Literal["required", "auto"] = "required"
    preserve_thinking: bool = False
    context_tokens: int = 65_536
    max_output_tokens: int = 4_096
    key: str | None = field(default=None, repr=False)


STANDARD = Terms()


@dataclass(frozen=True)
class Rule:
    """One sentence of the contract."""

    id: str
    sentence: str


@dataclass(frozen=True)
class Breach:
    """A broken rule. ``detail`` says where the request breaks it."""

    rule: Rule
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.rule.id}: {self.rule.sentence}" + (f" ({self.detail})" if self.detail else "")


Check: TypeAlias = Callable[[Subject, Terms], Iterator[str]]


@dataclass(frozen=True)
class RuleBook(Generic[Subject]):
    """Rules in order, each with a check that yields the details of breaches."""

    checks: list[tuple[Rule, Check[Subject]]] = field(default_factory=list)

    def rule(self, id_: str, sentence: str) -> Callable[[Check[Subject]], Check[Subject]]:
        """Return a decorator that adds a check under an id."""

        def register(check: Check[Subject]) -> Check[Subject]:
            self.checks.append((Rule(id_, sentence), check))
            return check

        return register

    def adopt(self, shared: RuleBook[Subject], letter: str) -> None:
        """Add the rules of a book that several dialects share, with this dialect's letter before their ids."""
        self.checks.extend((Rule(f"{letter}{rule.id}", rule.sentence), check) for rule, check in shared.checks)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in the order of their ids."""
        return tuple(sorted((rule for rule, _ in self.checks), key=lambda rule: rule.id))

    def breaches(self, subject: Subject, terms: Terms) -> list[Breach]:
        """Return the first breach of each broken rule, in the order of their ids."""
        first = ((rule, next(check(subject, terms), None)) for rule, check in self.checks)
        found = [Breach(rule, detail) for rule, detail in first if detail is not None]
        return sorted(found, key=lambda breach: breach.rule.id)
