"""Test access to a live view: by token, host and origin."""

from __future__ import annotations

import pytest

from holo_tasks.live_view.access import ForeignRequest, UnknownPath, ViewAccess


def test_each_token_grants_its_right_and_is_not_in_the_repr() -> None:
    door = ViewAccess("127.0.0.1")
    assert door.enter(f"/{door.use}/") == (True, "")
    assert door.enter(f"/{door.watch}/core/rfb.js") == (False, "core/rfb.js")
    assert len({door.use, door.watch, ViewAccess("127.0.0.1").use}) == 3
    assert len(door.use) * 6 >= 256
    assert door.use not in repr(door)
    assert door.watch not in repr(door)


@pytest.mark.parametrize(
    "path", ["", "/", "//", "/socket", "/{use}", "/{use}x/", "/x{use}/", "/{cut}/", "//{use}/", "/é/"]
)
def test_a_path_without_a_valid_token_is_unknown(path: str) -> None:
    door = ViewAccess("127.0.0.1")
    with pytest.raises(UnknownPath):
        door.enter(path.format(use=door.use, cut=door.use[:-1]))


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost:9", "LOCALHOST", "[::1]:8", "127.0.0.2"])
def test_hosts_of_this_machine_are_accepted(host: str) -> None:
    ViewAccess("127.0.0.1").check_host(host)


@pytest.mark.parametrize(
    "host",
    ["evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost.", "127.1", "a@evil", "[::1", "x:y"],
)
def test_other_host_names_are_rejected(host: str) -> None:
    with pytest.raises(ForeignRequest):
        ViewAccess("127.0.0.1").check_host(host)


def test_a_public_address_accepts_its_own_name_and_addresses() -> None:
    door = ViewAccess("Worker-7.lan")
    for host in ("worker-7.lan:80", "10.0.0.1:80", "127.0.0.1"):
        door.check_host(host)
    with pytest.raises(ForeignRequest):
        door.check_host("evil.example")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://[", "http://127.0.0.1:9", "file://127.0.0.1:80"]
)
def test_a_page_of_another_site_cannot_open_a_websocket(origin: str) -> None:
    ViewAccess("127.0.0.1").check_origin("http://127.0.0.1:80", "127.0.0.1:80")
    with pytest.raises(ForeignRequest):
        ViewAccess("127.0.0.1").check_origin(origin, "127.0.0.1:80")
