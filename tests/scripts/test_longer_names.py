"""A value is not found as the beginning of a longer name, which is another item's."""

from __future__ import annotations

import pytest

from holo_tasks.scripts.values import fits_title, label_of
from holo_tasks.vision.screen_text import matches


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("order.txt", 'Move file "order.txt.bak" with source mask:'),
        ("R-1002", 'Move file "R-1002-A" with source mask:'),
        ("R-1002", 'Move file "R-1002/3"'),
        ("R-1002", "Move file R-1002_old"),
    ],
)
def test_a_longer_name_is_another_item(file: str, text: str) -> None:
    assert not matches(label_of('Move file "{file}*', {"file": file}), text)


@pytest.mark.parametrize(
    "text",
    [
        'Move file "order.txt" with source mask:',
        "Move file order.txt",
        "Move file order.txt: 3 bytes",
        "Move file order.txt.",
        "Move file order.txt.Really?",  # OCR loses a space
        "Move file order.txt - the first",
        "Move file order.txt.bak and order.txt",
    ],
)
def test_the_value_itself_is_found_before_any_other_text(text: str) -> None:
    assert matches(label_of('Move file "{file}*', {"file": "order.txt"}), text)


def test_a_label_may_have_the_end_of_the_name() -> None:
    assert matches(label_of("Move file {name}.txt*", {"name": "order"}), "Move file order.txt now")


@pytest.mark.parametrize("title", ["Order 10020 - Shop", "Order 1002-A - Shop", "Order 1002.b"])
def test_a_title_with_a_longer_value_is_another_items(title: str) -> None:
    assert not fits_title("Order {order}*", {"order": "1002"}, title)
    assert not fits_title("*{order} - Shop", {"order": "1002"}, "Order 31002 - Shop")


@pytest.mark.parametrize("title", ["Order 1002 - Shop", "Order 1002", "Order 1002 (new)", "order 1002: Shop"])
def test_a_title_with_the_value_fits(title: str) -> None:
    assert fits_title("Order {order}*", {"order": "1002"}, title)
    assert fits_title("*{order}*", {"order": "1002"}, title)
