"""Programs that ask the service org.a11y.Bus, as those of Qt 6, are told that their elements are read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from dbus_fast import Message, MessageType

from holo_tasks.accessibility.announcement import SERVICE, STATUS
from holo_tasks.accessibility.connection import PROPERTIES, BoundedBus
from holo_tasks.accessibility.reader import Reader
from holo_tasks.desktop import VirtualDesktop
from tests.support.own_bus import own_bus

PATH, FOR_PROGRAMS = "/org/a11y/bus", "unix:path=/somewhere/bus"
ASK = f"dbus-send --print-reply --dest={SERVICE} {PATH} {PROPERTIES}.Get string:{STATUS} string:IsEnabled"
LATE_S = 30.0


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
async def test_a_desktop_tells_its_programs_before_elements_are_asked_for(tmp_path: Path) -> None:
    told = tmp_path / "told"
    ask = f"until {ASK} > {told}; do sleep 0.1; done; echo $AT_SPI_BUS_ADDRESS >> {told}; exec sleep 1000"
    async with VirtualDesktop(app=["xterm", "-e", "sh", "-c", ask], app_timeout_s=60):
        async with asyncio.timeout(LATE_S):
            while not told.exists() or "boolean" not in told.read_text():
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.2)  # the shell writes the variable
    assert "boolean true" in told.read_text()
    assert "unix:" not in told.read_text(), "Qt 6.4 publishes nothing if the variable is set"
