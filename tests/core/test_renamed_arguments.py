"""Calling a function with a renamed argument raises an error with the new name."""

from __future__ import annotations

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.renamed_arguments import renamed


@renamed(token="key=")
def work(*, key: str = "") -> str:
    return key


def test_an_old_name_raises_an_error_with_the_new_one() -> None:
    assert work(key="I-1") == "I-1"
    with pytest.raises(InvalidUsage, match=r"work\(\) has no argument token= any more: write key=\."):
        work(token="I-1")  # type: ignore[call-arg]


def test_any_other_name_raises_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        work(nonsense="I-1")  # type: ignore[call-arg]
