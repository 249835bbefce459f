"""A window with a typed secret keeps its identity until it is closed, even if another window then gets its id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import xcffib
import xcffib.xproto

from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.secrets import secret_windows
from holo_tasks.desktop.secrets.secret_windows import VIEWABLE, SecretWindow, SecretWindows, boxes_between

HERE = Box(0, 0, 200, 100)


@pytest.mark.parametrize("seen_closed", [True, False])
def test_a_reused_window_id_is_not_taken_for_the_closed_window(
    seen_closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = {5: 7}

    def attributes(window: int) -> Any:
        if window not in owners:
            raise xcffib.xproto.WindowError(xcffib.MemoryUnpacker(bytes(32)))
        return SimpleNamespace(reply=lambda: SimpleNamespace(map_state=VIEWABLE))

    link: Any = SimpleNamespace(conn=SimpleNamespace(core=SimpleNamespace(GetWindowAttributes=attributes)))
    monkeypatch.setattr(secret_windows, "owner_of", lambda link, at: Owner(pid=7))
    monkeypatch.setattr(secret_windows, "owner_by", lambda link, window: Owner(pid=owners[window]))
    monkeypatch.setattr(secret_windows, "_window_in_middle", lambda link, field: 5)
    monkeypatch.setattr(secret_windows, "client_of", lambda link, window: window)
    monkeypatch.setattr(secret_windows, "box", lambda link, window: HERE)
    known = SecretWindows(link)
    assert known.inside(Box(20, 20, 90, 20)).window == 5
    assert known.window_boxes() == {5: HERE}
    if seen_closed:
        del owners[5]
        assert known.window_boxes() == {5: None}
        owners[5] = 7
        assert known.window_boxes() == {5: None}, "the window id was reused"
    owners[5] = 8
    assert known.window_boxes() == {5: None}
    owners[5] = 7
    assert known.window_boxes() == {5: None}
    assert known.inside(Box(20, 20, 90, 20)).window == 5
    assert known.window_boxes() == {5: HERE}, "the secret was typed into that window"


TOP, FIELD, DIALOG = 1, 2, 3
PLACES = {TOP: Box(0, 0, 400, 300), FIELD: Box(98, 48, 124, 28), DIALOG: Box(50, 20, 300, 200)}
TYPED = Box(100, 50, 120, 24)


@pytest.mark.parametrize(
    ("pressed", "owners", "keyboard", "active", "window", "pid"),
    [
        (FIELD, {}, 7, TOP, FIELD, 7),  # one window per field
        (TOP, {}, 7, TOP, TOP, 7),
        (DIALOG, {}, 7, TOP, DIALOG, 7),
        (DIALOG, {DIALOG: 8}, 7, TOP, TOP, 7),  # a dialog of another program over the field
        (FIELD, {TOP: 8, FIELD: 7}, 7, TOP, FIELD, 7),  # one program's window inside another's
        (0, {}, 7, TOP, TOP, 7),
        (0, {}, 7, 0, 0, 0),
    ],
)
def test_the_window_that_draws_a_field_is_its_own_or_its_programs_top_window(
    monkeypatch: pytest.MonkeyPatch,
    pressed: int,
    owners: dict[int, int],
    keyboard: int,
    active: int,
    window: int,
    pid: int,
) -> None:
    monkeypatch.setattr(secret_windows, "owner_of", lambda link, at: Owner(pid=keyboard))
    monkeypatch.setattr(secret_windows, "owner_by", lambda link, window: Owner(pid=owners.get(window, 7)))
    monkeypatch.setattr(secret_windows, "_window_in_middle", lambda link, field: pressed)
    monkeypatch.setattr(secret_windows, "client_of", lambda link, window: TOP if window == FIELD else window)
    monkeypatch.setattr(secret_windows, "active_window", lambda link: active)
    monkeypatch.setattr(secret_windows, "box", lambda link, window: PLACES[window])
    known = SecretWindows(SimpleNamespace())  # type: ignore[arg-type]
    assert known.inside(TYPED) == SecretWindow(window, PLACES.get(window), pid)
    assert known.any == bool(window)


def test_a_hidden_window_has_no_position_until_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    state = [0]
    attributes: Any = lambda window: SimpleNamespace(reply=lambda: SimpleNamespace(map_state=state[0]))  # noqa: E731
    link: Any = SimpleNamespace(conn=SimpleNamespace(core=SimpleNamespace(GetWindowAttributes=attributes)))
    monkeypatch.setattr(secret_windows, "owner_of", lambda link, at: Owner(pid=7))
    monkeypatch.setattr(secret_windows, "owner_by", lambda link, window: Owner(pid=7))
    monkeypatch.setattr(secret_windows, "_window_in_middle", lambda link, field: TOP)
    monkeypatch.setattr(secret_windows, "client_of", lambda link, window: window)
    monkeypatch.setattr(secret_windows, "box", lambda link, window: PLACES[window])
    known = SecretWindows(link)
    known.inside(TYPED)
    assert known.window_boxes() == {TOP: None}
    state[0] = VIEWABLE
    assert known.window_boxes() == {TOP: PLACES[TOP]}


def test_a_window_that_moved_between_two_captures_covers_its_whole_path() -> None:
    moved = {1: Box(0, 0, 10, 10), 2: None, 3: HERE, 4: None}
    assert boxes_between(moved, {1: Box(30, 5, 10, 10), 2: HERE, 3: None, 5: HERE}) == {
        1: Box(0, 0, 40, 15),
        2: HERE,
        3: HERE,
        4: None,
        5: HERE,
    }
