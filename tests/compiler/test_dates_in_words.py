"""A date in words gets placeholders, and so do the other values of the same text."""

from __future__ import annotations

import pytest

from holo_tasks.compiler.targets import templated

DUE = {"due": "2026-12-24"}
WORDS = "{due:MMMM} {due:D}, {due:YYYY}"


@pytest.mark.parametrize(
    ("others", "text", "expected"),
    [
        pytest.param({"customer": "ACME"}, "Bill ACME, December 24, 2026", f"Bill {{customer}}, {WORDS}", id="a name"),
        pytest.param({"day": "24"}, "December 24, 2026", WORDS, id="a value that the date has"),
        pytest.param({"word": "due"}, "December 24, 2026 due", f"{WORDS} {{word}}", id="a name of a placeholder"),
    ],
)
def test_the_other_values_of_a_text_with_a_date_are_replaced(others: dict[str, str], text: str, expected: str) -> None:
    assert templated(text, {**DUE, **others}) == expected
