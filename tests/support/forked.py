"""What is forked for a test, where else it would be started anew."""

from __future__ import annotations

import pytest

from tests.support import warm


def watch(monkeypatch: pytest.MonkeyPatch, *named: str) -> list[int]:
    """Return the processes that are forked from now on by what has loaded what is named, or what commands load."""
    forker = warm.forker(*named)
    if forker is None:
        pytest.skip("the kernel lets no process say what its command line is")
    was: list[int] = []
    child = forker.child
    monkeypatch.setattr(forker, "child", lambda *told: was.append(child(*told)) or was[-1])
    return was
