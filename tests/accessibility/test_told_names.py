"""Names that programs report for their elements, in one line and once."""

from __future__ import annotations

import pytest

from holo_tasks.accessibility.node import told_name


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("Replace _All Replace All", "Replace All"),
        ("_Save Save", "Save"),
        ("Save", "Save"),
        ("Save Save", "Save Save"),
        ("_Save", "_Save"),
        ("_Save Safe", "_Save Safe"),
        ("file_name", "file_name"),
        ("a_b_c abc", "a_b_c abc"),
        ("two\nlines", "two lines"),
        ("_ ", "_"),
        ("", ""),
    ],
)
def test_a_label_with_a_mnemonic_is_taken_once(told: str, name: str) -> None:
    assert told_name(told) == name
