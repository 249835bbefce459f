"""Test that RFB messages are parsed however they are split, and that unknown messages end the connection."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.input.remote_input import Key, Pointing
from holo_tasks.live_view.rfb import NotRfb, Viewer

GREETING = b"RFB 003.008\n\x01\x00"
KEY, POINTER = struct.pack(">BBxxI", 4, 1, 0x61), struct.pack(">BBHH", 5, 1, 30, 40)
EXTENDED_KEY = struct.pack(">BBHII", 255, 0, 0, 0x61, 30)
TEXT = struct.pack(">BxxxI", 6, 3) + b"abc"
EXTENDED_TEXT = struct.pack(">Bxxxi", 6, -4) + b"\0\0\0\1"
RESIZE = struct.pack(">BxHHBx", 251, 800, 600, 1) + bytes(16)
PASSED = [
    struct.pack(">B3x16x", 0),
    struct.pack(">BxHii", 2, 2, 0, 7),
    struct.pack(">BBHHHH", 3, 1, 0, 0, 10, 10),
    struct.pack(">BBHHHH", 150, 1, 0, 0, 10, 10),
    struct.pack(">BxxxIB", 248, 1, 5) + b"hello",
]
KEPT_BACK = [KEY, POINTER, EXTENDED_KEY, TEXT, EXTENDED_TEXT, RESIZE, struct.pack(">BxBB", 250, 1, 2)]


@given(st.lists(st.sampled_from(PASSED + KEPT_BACK), max_size=8), st.data())
def test_input_is_removed_and_the_rest_passed_on_for_any_split(messages: list[bytes], data: st.DataObject) -> None:
    said, viewer = GREETING + b"".join(messages), Viewer()
    passed, inputs = b"", []
    while said:
        cut = data.draw(st.integers(1, len(said)))
        out, done = viewer.receive(said[:cut])
        passed, inputs, said = passed + out, inputs + done, said[cut:]
    assert passed == GREETING + b"".join(message for message in messages if message in PASSED)
    meant = {KEY: Key(0x61, down=True), EXTENDED_KEY: Key(0x61, down=False), POINTER: Pointing(30, 40, 1)}
    assert inputs == [meant[message] for message in messages if message in meant]


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"RFB 003.003\n\x01",
        b"RFB 003.008\n\x02",
        GREETING + b"\x07",
        GREETING + b"\xff\x01",
        GREETING + struct.pack(">BxxxI", 6, 1 << 30),
    ],
)
def test_an_unknown_message_ends_the_connection(said: bytes) -> None:
    with pytest.raises(NotRfb):
        Viewer().receive(said)


def test_a_viewer_that_leaves_releases_its_keys_and_buttons() -> None:
    viewer = Viewer()
    viewer.receive(GREETING + KEY + POINTER)
    assert viewer.release_all() == [Key(0x61, down=False), Pointing(30, 40, 0)]
    viewer.receive(EXTENDED_KEY + struct.pack(">BBHH", 5, 0, 1, 1))
    assert viewer.release_all() == []
