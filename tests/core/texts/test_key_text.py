"""Keys of business items have one spelling, and different keys stay different."""

from __future__ import annotations

import pytest

from holo_tasks.core.texts.key_text import key_text


@pytest.mark.parametrize(
    "spelling",
    ["Café 7", " Café 7 ", "Café\u00a07", "Cafe\u0301 7", "Café\u200b 7", "\ufeffCafé 7", "Café \t7\n", "Café\u2007 7"],
)
def test_spellings_of_one_key_are_one(spelling: str) -> None:
    assert key_text(spelling) == "Café 7"


@pytest.mark.parametrize("other", ["café 7", "Café7", "Café 07", "Cafe 7", "Café-7", "Ⅶ", "７"])
def test_different_keys_stay_different(other: str) -> None:
    assert key_text(other) == other
    assert key_text(other) != key_text("Café 7")
