"""X libraries are found by the names that `ldconfig` would report, without running it."""

from __future__ import annotations

import ctypes.util

import pytest

from holo_tasks.desktop.x11 import shared_libraries


def refuse(name: str) -> str | None:
    raise AssertionError(f"{name} was searched for")


@pytest.mark.parametrize("name", shared_libraries.KNOWN)
def test_a_known_librarys_name_equals_the_search_result(name: str) -> None:
    assert shared_libraries.find(name, refuse) == ctypes.util.find_library(name)


def test_an_unknown_library_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(shared_libraries.KNOWN, "gone", "libgone-of-no-machine.so.1")
    found = {"gone": "libgone.so.2", "other": "libother.so.3", "none": None}
    assert {name: shared_libraries.find(name, found.get) for name in found} == found


def test_the_x_bindings_run_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes.util, "find_library", refuse)
    shared_libraries.find_at_once()
    assert {name: ctypes.util.find_library(name) for name in shared_libraries.KNOWN} == shared_libraries.KNOWN
