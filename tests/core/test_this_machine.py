"""Local-only mode decides by resolved addresses, never by the form of a name."""

from __future__ import annotations

import pytest

from holo_tasks.core.this_machine import (
    NotThisMachine,
    check_display,
    is_loopback,
    pinned_url,
    switched_on,
    without_proxies,
)
from tests.support.lookup import Names

NAMES = Names(
    {
        "localhost": ["::1", "127.0.0.1"],
        "box": ["127.0.1.1"],
        "localhost.evil.example": ["203.0.113.7"],
        "half.example": ["127.0.0.1", "203.0.113.7"],
        "zone.example": ["fe80::1%eth0"],
        "mapped.example": ["::ffff:203.0.113.7"],
        "nowhere.example": [],
        # A C library reads all of these as addresses of this machine; other parsers differ.
        **{odd: ["127.0.0.1"] for odd in ("2130706433", "127.1", "0x7f.1", "0177.0.0.1", "127.0.0.1.", "localhost.")},
    }
)


@pytest.mark.parametrize(
    ("url", "pinned"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("https://127.8.9.10/v1/", "https://127.8.9.10/v1/"),
        ("http://[::1]:9/v1", "http://[::1]:9/v1"),
        ("http://[::ffff:127.0.0.1]/v1", "http://[::ffff:127.0.0.1]/v1"),
        ("http://LOCALHOST:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://me:pass@box/v1", "http://me:pass@127.0.1.1/v1"),
    ],
)
def test_the_checked_address_is_the_one_that_is_used(url: str, pinned: str) -> None:
    assert pinned_url(url, NAMES, "the model") == pinned


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1@evil.example/v1",
        "http://localhost:80@203.0.113.7/v1",
        "http://localhost.evil.example/v1",
        "http://localhost\\@evil.example/v1",
        "http://localhost#@203.0.113.7\n/v1",
        "http://half.example",
        "http://zone.example",
        "http://mapped.example",
        "http://nowhere.example",
        "http://unknown.example",
        "http://2130706433/v1",
        "http://127.1",
        "http://0x7f.1",
        "http://0177.0.0.1",
        "http://127.0.0.1.",
        "http://localhost.",
        "http://0.0.0.0",
        "http://0",
        "http://[::]",
        "http://[::1%25lo]/v1",
        "http://[fe80::1%25eth0]",
        "http://[::ffff:203.0.113.7]",
        "http://[::127.0.0.1]",
        "http://[64:ff9b::7f00:1]",
        "http://\uff11\uff12\uff17.0.0.1",
        "http://loc\u00adalhost",
        "http://203.0.113.7",
        "http://[not an address]",
        "http://127.0.0.1:99999",
        "http://",
        "unix:///run/model",
        "",
    ],
)
def test_all_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(NotThisMachine, match="nothing was sent"):
        pinned_url(url, NAMES, "the model")


def test_a_check_of_the_text_would_accept_these() -> None:
    def naive(url: str) -> bool:
        return url.startswith(("http://localhost", "http://127."))

    for url in ("http://127.0.0.1@203.0.113.7/v1", "http://localhost.evil.example/v1", "http://127.0.0.1.evil.example"):
        assert naive(url)
        with pytest.raises(NotThisMachine):
            pinned_url(url, NAMES, "the model")


def test_a_link_local_address_is_not_loopback() -> None:
    assert not is_loopback("::1%lo")
    assert not is_loopback("127.0.0.01")


@pytest.mark.parametrize(("word", "on"), [("1", True), ("yes", True), ("ture", True), ("0", False), ("", False)])
def test_the_switch_is_on_unless_it_plainly_says_no(word: str, on: bool) -> None:
    assert switched_on({"HOLO_LOCAL_ONLY": word}) is on


@pytest.mark.parametrize("display", [":0", ":7.1", "unix:0", "unix/:3", "localhost:10.0", "127.0.0.1:0", "[::1]:0"])
def test_a_display_of_this_machine_is_accepted(display: str) -> None:
    check_display(display, NAMES)


@pytest.mark.parametrize(
    "display",
    ["203.0.113.7:0", "other.example:0", "tcp/203.0.113.7:0", "unix:203.0.113.7:0", "other::0", "a:0\n:1", "/x:0"],
)
def test_a_remote_display_is_refused(display: str) -> None:
    with pytest.raises(NotThisMachine, match="the display"):
        check_display(display, NAMES)


def test_proxies_are_removed_from_an_environment() -> None:
    environ = {"HTTP_PROXY": "http://p", "https_proxy": "http://p", "All_Proxy": "socks5://p", "PATH": "/bin"}
    without_proxies(environ)
    assert environ == {"PATH": "/bin", "NO_PROXY": "*", "no_proxy": "*"}
