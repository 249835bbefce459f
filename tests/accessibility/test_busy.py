"""Busy states in the accessibility tree: browsers set them on documents that load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dbus_fast import Message, MessageType

from holo_tasks.accessibility.connection import MOST_BUSY, Connection


class Bus:
    """Fake bus that delivers signals from the test."""

    def add_message_handler(self, handler: Callable[[Message], Any]) -> None:
        self.handler = handler

    def says(self, path: str, busy: int) -> None:
        interface = "org.a11y.atspi.Event.Object"
        told = Message(path=path, interface=interface, member="StateChanged", message_type=MessageType.SIGNAL)
        told.body = ["busy", busy, 0]
        self.handler(told)


def test_a_document_stays_busy_until_its_busy_state_ends() -> None:
    bus = Bus()
    connection = Connection(bus)  # type: ignore[arg-type]
    bus.says("/page", 1)
    bus.says("/frame", 1)
    assert connection.busy == {"/page", "/frame"}
    bus.says("/frame", 0)
    assert connection.busy == {"/page"}
    bus.says("/page", 0)
    assert not connection.busy


def test_a_loaded_document_clears_the_busy_state_of_the_old_one() -> None:
    bus = Bus()
    connection = Connection(bus)  # type: ignore[arg-type]
    bus.says("/old", 1)
    bus.says("/new", 0)
    assert not connection.busy


def test_the_number_of_remembered_busy_elements_is_limited() -> None:
    bus = Bus()
    connection = Connection(bus)  # type: ignore[arg-type]
    for number in range(2 * MOST_BUSY):
        bus.says(f"/{number}", 1)
    assert len(connection.busy) == MOST_BUSY
