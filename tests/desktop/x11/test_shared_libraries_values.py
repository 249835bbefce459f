"""How the libraries of X are found: by the names that `ldconfig` would tell, without asking it."""

from __future__ import annotations

import ctypes.util

import pytest

from holo_tasks.desktop.x11 import shared_libraries


def refuse(name: str) -> str | None:
    raise AssertionError(f"{name} was searched for")


@pytest.mark.parametrize("name", shared_libraries.KNOWN)
def test_a_library_is_called_what_a_search_would_tell(name: str) -> None:
    assert shared_libraries.find(name, refuse) == ctypes.util.find_library(name)


def test_any_other_is_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shared_libraries.KNOWN, "gone", "libgone-of-no-machine.so.1")
    found = {"gone": "libgone.so.2", "other": "libother.so.3", "none": None}
    assert {name: shared_libraries.find(name, found.get) for name in found} == found


def test_the_bindings_of_x_search_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes.util, "find_library", refuse)
    shared_libraries.find_at_once()
    assert {name: ctypes.util.find_library(name) for name in shared_libraries.KNOWN} == shared_libraries.KNOWN
