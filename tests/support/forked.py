"""Observe the processes that tests fork from a preloaded process instead of starting them."""

from __future__ import annotations

import pytest

from tests.support import warm


def watch(monkeypatch: pytest.MonkeyPatch, *named: str) -> list[int]:
    """Return a list that collects the ids of processes forked from now on, by the forker with the named modules or the
    commands' modules.
    """
    forker = warm.forker(*named)
    if forker is None:
        pytest.skip("the kernel lets no process say what its command line is")
    was: list[int] = []
    child = forker.child
    monkeypatch.setattr(forker, "child", lambda *told: was.append(child(*told)) or was[-1])
    return was
