"""A window that a secret was typed into is that one until it is closed, whoever gets its number then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import xcffib
import xcffib.xproto

from holo_tasks.core.geometry import Box
from holo_tasks.core.ports import Owner
from holo_tasks.desktop import typed_in
from holo_tasks.desktop.typed_in import VIEWABLE, TypedIn

HERE = Box(0, 0, 200, 100)


@pytest.mark.parametrize("seen_closed", [True, False])
def test_another_programs_window_with_the_number_of_a_closed_one_is_not_taken_for_it(
    seen_closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = {5: 7}

    def attributes(window: int) -> Any:
        if window not in owners:
            raise xcffib.xproto.WindowError(xcffib.MemoryUnpacker(bytes(32)))
        return SimpleNamespace(reply=lambda: SimpleNamespace(map_state=VIEWABLE))

    link: Any = SimpleNamespace(conn=SimpleNamespace(core=SimpleNamespace(GetWindowAttributes=attributes)))
    monkeypatch.setattr(typed_in, "owner_of", lambda link, at: Owner(pid=7))
    monkeypatch.setattr(typed_in, "owner_by", lambda link, window: Owner(pid=owners[window]))
    monkeypatch.setattr(typed_in, "_pressed", lambda link, field: 5)
    monkeypatch.setattr(typed_in, "client_of", lambda link, window: window)
    monkeypatch.setattr(typed_in, "box", lambda link, window: HERE)
    known = TypedIn(link)
    assert known.inside(Box(20, 20, 90, 20)).window == 5
    assert known.places() == {5: HERE}
    if seen_closed:
        del owners[5]
        assert known.places() == {5: None}
        owners[5] = 7
        assert known.places() == {5: None}, "a number is given anew"
    owners[5] = 8
    assert known.places() == {5: None}
    owners[5] = 7
    assert known.places() == {5: None}
    assert known.inside(Box(20, 20, 90, 20)).window == 5
    assert known.places() == {5: HERE}, "it was typed into that"
