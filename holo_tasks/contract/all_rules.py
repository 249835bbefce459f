"""All rule books, and which one a request is held to."""

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
    """Return what a request breaks: of its dialect's rules first, then of those on what any request may ask for."""
    return BOOKS[terms.dialect].breaches(body, terms) + limits.BOOK.breaches(body, terms)
