"""All rule books: which one a request is held to, and every rule there is."""

from __future__ import annotations

from holo_tasks.playbooks import (
    continuity,
    contract,
    contract_flat,
    contract_limits,
    contract_localize,
    contract_tools,
    contract_wire,
    turn_taking,
)
from holo_tasks.playbooks.rulebook import STANDARD, Body, Breach, Dialect, Rule, RuleBook, Terms

BOOKS: dict[Dialect, RuleBook[Body]] = {
    "structured": contract.BOOK,
    "tools": contract_tools.BOOK,
    "holotron": contract_flat.BOOK,
    "localize": contract_localize.BOOK,
}


def breaches_of(body: Body, terms: Terms = STANDARD) -> list[Breach]:
    """Return what a request breaks: of its dialect's rules first, then of those on what any request may ask for."""
    return BOOKS[terms.dialect].breaches(body, terms) + contract_limits.BOOK.breaches(body, terms)


def every_rule() -> tuple[Rule, ...]:
    """Return the rules of all books: on the wire, on one request, and on a request after another."""
    single = [rule for book in (*BOOKS.values(), contract_limits.BOOK) for rule in book.rules]
    return (*contract_wire.BOOK.rules, *single, *continuity.RULES, *turn_taking.RULES)
