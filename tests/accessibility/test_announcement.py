"""Programs that ask the service org.a11y.Bus, as those of Qt 6, learn that their elements are read."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from pathlib import Path
from typing import cast

import pytest
from dbus_fast import Message, MessageType

from holo_tasks.accessibility.announcement import SERVICE, STATUS
from holo_tasks.accessibility.bus import Bus
from holo_tasks.accessibility.connection import PROPERTIES, BoundedBus
from holo_tasks.accessibility.reader import Reader
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.elements import bus_reader
from holo_tasks.desktop.elements.bus_reader import BusReader
from tests.support.own_bus import own_bus

PATH, FOR_PROGRAMS = "/org/a11y/bus", "unix:path=/somewhere/bus"
ASK = f"dbus-send --print-reply --dest={SERVICE} {PATH} {PROPERTIES}.Get string:{STATUS} string:IsEnabled"


async def test_the_service_tells_the_address_and_that_elements_are_read(tmp_path: Path) -> None:
    with own_bus(tmp_path) as bus:
        if bus.process is None or bus.unavailable_reason:
            pytest.skip(bus.unavailable_reason)
        await asyncio.wrap_future(Reader(bus.address).announce(FOR_PROGRAMS))
        program = BoundedBus(bus_address=bus.address)
        await program.connect()
        program.guarded.left = 1 << 20

        async def said(interface: str, member: str, *body: str) -> Message:
            answer = await program.call(
                Message(SERVICE, PATH, interface, member, signature="s" * len(body), body=[*body])
            )
            assert answer is not None
            return answer

        assert (await said(SERVICE, "GetAddress")).body == [FOR_PROGRAMS]
        assert (await said(PROPERTIES, "Get", STATUS, "IsEnabled")).body[0].value is True
        assert (await said(PROPERTIES, "Get", STATUS, "ScreenReaderEnabled")).body[0].value is False
        assert {*(await said(PROPERTIES, "GetAll", STATUS)).body[0]} == {"IsEnabled", "ScreenReaderEnabled"}
        assert (await said(PROPERTIES, "Get", STATUS, "Other")).message_type is MessageType.ERROR
        program.disconnect()


@pytest.mark.desktop
async def test_a_program_that_asks_at_once_is_told(tmp_path: Path) -> None:
    """Qt 6.4 asks once when it starts, and publishes nothing if the service is not there yet."""
    told = tmp_path / "told"
    ask = f"{ASK} > {told} 2>&1; echo $AT_SPI_BUS_ADDRESS >> {told}; exec xterm"
    async with VirtualDesktop(app=["sh", "-c", ask], app_timeout_s=60):
        pass
    assert "boolean true" in told.read_text()
    assert "unix:" not in told.read_text(), "Qt 6.4 publishes nothing if the variable is set"


def test_a_program_starts_although_the_bus_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus_reader, "LONGEST_S", 0.2)
    bus, released = Bus(cast("subprocess.Popen[bytes]", object()), "unix:path=/nowhere", -1), threading.Event()
    reader = BusReader(bus)
    monkeypatch.setattr(reader, "_announce", released.wait)
    reader.announce()
    began = time.monotonic()
    reader.await_announcement()
    assert 0.1 < time.monotonic() - began < 2
    released.set()


def test_a_program_waits_for_no_announcement_without_a_bus() -> None:
    reader = BusReader(Bus(None, "", -1, "There is no bus."))
    reader.announce()
    reader.await_announcement()
    assert reader.opened is None
