"""Which elements a program says are busy: browsers say it of documents that load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dbus_fast import Message, MessageType

from holo_tasks.accessibility.connection import MOST_BUSY, Connection


class Bus:
    """Passes on the signals of a test."""

    def add_message_handler(self, handler: Callable[[Message], Any]) -> None:
        self.handler = handler

    def says(self, path: str, busy: int) -> None:
        interface = "org.a11y.atspi.Event.Object"
        told = Message(path=path, interface=interface, member="StateChanged", message_type=MessageType.SIGNAL)
        told.body = ["busy", busy, 0]
        self.handler(told)


def test_a_document_is_busy_until_it_says_that_it_is_not() -> None:
    bus = Bus()
    connection = Connection(bus)  # type: ignore[arg-type]
    bus.says("/page", 1)
    bus.says("/frame", 1)
    assert connection.busy == {"/page", "/frame"}
    bus.says("/frame", 0)
    assert connection.busy == {"/page"}
    bus.says("/page", 0)
    assert not connection.busy


def test_a_new_document_that_is_done_ends_what_the_old_one_said() -> None:
    bus = Bus()
    connection = Connection(bus)  # type: ignore[arg-type]
    bus.says("/old", 1)
    bus.says("/new", 0)
    assert not connection.busy


def test_only_so_many_are_kept() -> None:
    bus = Bus()
    connection = Connection(bus)  # type: ignore[arg-type]
    for number in range(2 * MOST_BUSY):
        bus.says(f"/{number}", 1)
    assert len(connection.busy) == MOST_BUSY
