"""An icon with letters on it, which OCR reads as a word before a name, does not contradict the name."""

from __future__ import annotations

import pytest

from holo_tasks.vision.name_fit import agrees


@pytest.mark.parametrize("read", ["V2 lecture-cedar.mp3", "v2 lecture-cedar.mp3", "lecture-cedar.mp3"])
def test_a_name_after_an_icon_with_letters_agrees(read: str) -> None:
    assert agrees("lecture-cedar.mp3", read)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("lecture-cedar.mp3", "V2 lecture-cedar.mp4"),
        ("Order 5", "12 Order 5"),
        ("paid", "un paid"),
        ("paid", "no paid"),
        ("Nr 2", "V2 Nr 2x"),
    ],
)
def test_a_count_a_negation_or_another_name_is_no_icon(name: str, read: str) -> None:
    assert not agrees(name, read)
