"""The rule book of each dialect, and the check of a request against it."""

from __future__ import annotations

from holo_tasks.contract import holotron, limits, question, structured, tools
from holo_tasks.contract.rulebook import STANDARD, Body, Breach, Dialect, RuleBook, Terms

BOOKS: dict[Dialect, RuleBook[Body]] = {
    "structured": structured.BOOK,
    "tools": tools.BOOK,
    "holotron": holotron.BOOK,
    "localize": question.BOOK,
}


def breaches_of(body: Body, terms: Terms = STANDARD) -> list[Breach]:
    """Return the rules that a request breaks: those of its dialect first, then those on limits."""
    return BOOKS[terms.dialect].breaches(body, terms) + limits.BOOK.breaches(body, terms)
