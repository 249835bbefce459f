"""The same letters are recognized once, whatever the margin of their box; other letters are recognized anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holo_tasks.vision.known_letters import KnownLetters

LETTERS = (np.indices((12, 40)).sum(axis=0) % 3 * 90).astype(np.uint8)


class Engine:
    """An engine that counts its calls."""

    def __init__(self, *said: tuple[str, float]) -> None:
        self.said, self.calls = said or (("Order", 0.99),), 0

    def read(self, piece: Any) -> tuple[str, float]:
        self.calls += 1
        return self.said[(self.calls - 1) % len(self.said)]


def piece(margin: int, *, ground: int = 240, letters: Any = LETTERS) -> Any:
    gray = np.pad(letters, margin, constant_values=ground)
    return np.ascontiguousarray(np.repeat(gray[..., np.newaxis], 3, axis=2))


def texts(engine: Engine, *pieces: Any) -> list[str]:
    known = KnownLetters(engine)  # type: ignore[arg-type]
    return [known.read(each)[0] for each in pieces]


def test_another_margin_takes_no_second_recognition() -> None:
    engine = Engine()
    assert (
        texts(engine, piece(3), piece(5), np.pad(piece(2), ((0, 3), (1, 0), (0, 0)), constant_values=240))
        == ["Order"] * 3
    )
    assert engine.calls == 1


def test_one_other_pixel_or_color_is_recognized_anew() -> None:
    other = LETTERS.copy()
    other[6, 20] ^= 1
    engine = Engine()
    texts(engine, piece(3), piece(3, letters=other), piece(3, ground=239), piece(3, letters=LETTERS[:, :-1]))
    assert engine.calls == 4


@pytest.mark.parametrize("said", [("Order", 0.85), ("1,", 0.99), ("", 0.0)])
def test_an_uncertain_or_short_text_is_recognized_anew_with_another_margin(said: tuple[str, float]) -> None:
    engine = Engine(said, ("Order", 0.99))
    assert texts(engine, piece(3), piece(5), piece(7)) == [said[0], "Order", "Order"]
    assert engine.calls == 2


def test_an_empty_piece_has_a_key_of_its_own() -> None:
    engine = Engine()
    texts(engine, piece(3, letters=np.full((4, 4), 240, np.uint8)), piece(3, letters=np.full((6, 4), 240, np.uint8)))
    assert engine.calls == 2
