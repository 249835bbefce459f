"""Tell programs on a desktop's bus that their elements are read, as AT-SPI's launcher does on a person's bus.

Qt 6 publishes elements only if the service ``org.a11y.Bus`` says so. `announce` is the main function.
"""

from __future__ import annotations

from functools import partial

from dbus_fast import Message, MessageType, Variant

from holo_tasks.accessibility.connection import MOST_BYTES, BoundedBus

SERVICE, STATUS = "org.a11y.Bus", "org.a11y.Status"
STATES = {"IsEnabled": True, "ScreenReaderEnabled": False}


async def announce(address: str, for_programs: str) -> BoundedBus:
    """Own the service's name on a bus and answer its calls. ``for_programs`` is the address that programs get.

    The name is released when the returned connection closes.
    """
    bus = BoundedBus(bus_address=address)
    await bus.connect()
    bus.guarded.left = MOST_BYTES
    bus.add_message_handler(partial(_answer, for_programs))
    await bus.request_name(SERVICE)
    return bus


def _answer(for_programs: str, asked: Message) -> Message | bool | None:
    if asked.message_type is not MessageType.METHOD_CALL:
        return None
    match asked.interface, asked.member, asked.body:
        case (("org.a11y.Bus" | None), "GetAddress", _):
            return Message.new_method_return(asked, "s", [for_programs])
        case "org.freedesktop.DBus.Properties", "Get", [str(where), str(name)] if where == STATUS and name in STATES:
            return Message.new_method_return(asked, "v", [Variant("b", STATES[name])])
        case "org.freedesktop.DBus.Properties", "GetAll", [str(where)] if where == STATUS:
            return Message.new_method_return(asked, "a{sv}", [{name: Variant("b", on) for name, on in STATES.items()}])
    return None
