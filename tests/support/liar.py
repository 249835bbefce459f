"""A program on the accessibility bus that reports any elements a test wants, or none, or too many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbus_fast import Message, MessageType, Variant

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.connection import BoundedBus

FRAME, PANEL, BUTTON, ENTRY, PASSWORD = 23, 39, 43, 79, 40
SHOWS = (1 << 25) | (1 << 30) | (1 << 8)
"""Showing, visible, enabled."""
CACHED = "a((so)(so)(so)iiassusau)"
INTERFACES = [protocol.ACCESSIBLE, protocol.COMPONENT]


@dataclass
class Told:
    """One element as the liar reports it. Without extents it answers that the method does not exist."""

    name: str = ""
    role: int = BUTTON
    states: int = SHOWS
    extents: tuple[int, int, int, int] | None = (110, 110, 50, 20)
    above: str = protocol.ROOT
    below: Sequence[str] = ()
    interfaces: Sequence[str] = tuple(INTERFACES)
    index: int = 0


@dataclass
class Liar:
    """``cached`` says whether it offers a cache. ``answers`` replaces the answers to methods; None means no answer at
    all.
    """

    elements: dict[str, Told]
    cached: bool = True
    toolkit: str = "liar"
    answers: Mapping[str, Callable[[Message], tuple[str, list[Any]] | None]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    _bus: BoundedBus | None = None

    async def enter(self, address: str) -> None:
        """Register on the bus as programs do."""
        self._bus = BoundedBus(bus_address=address)
        await self._bus.connect()
        self._bus.guarded.left = 1 << 40
        self._bus.add_message_handler(self._answer)
        me = [(self._bus.unique_name, protocol.ROOT)]
        where = protocol.REGISTRY, protocol.ROOT, "org.a11y.atspi.Socket", "Embed"
        said = await self._bus.call(Message(*where, signature="(so)", body=me))
        assert said.message_type is not MessageType.ERROR, said.body

    @property
    def name(self) -> str:
        """Return the unique bus name of the program."""
        assert self._bus is not None
        return str(self._bus.unique_name)

    async def signal(self, path: str = protocol.ROOT, member: str = "ChildrenChanged", detail: str = "") -> None:
        """Emit a change signal. It names no element unless a detail is given."""
        assert self._bus is not None
        changed = [detail, 1, 0, Variant("s", ""), {}]
        where = {"path": path, "interface": "org.a11y.atspi.Event.Object", "member": member}
        await self._bus.send(Message(message_type=MessageType.SIGNAL, signature="siiva{sv}", body=changed, **where))
        await asyncio.sleep(0.05)

    def leave(self) -> None:
        if self._bus is not None:
            self._bus.disconnect()

    def _answer(self, asked: Message) -> Message | bool | None:
        if asked.message_type is not MessageType.METHOD_CALL or not asked.interface.startswith("org."):
            return None
        member = asked.body[1] if asked.member == "Get" else asked.member
        self.asked.append((asked.path, member))
        told = self.answers[member](asked) if member in self.answers else self._told(asked.path, member)
        if told is None:
            return True  # the bus counts it as handled, but the caller gets no answer
        if told == ("", []) and member == "GetItems":
            return Message.new_error(asked, "org.freedesktop.DBus.Error.UnknownMethod", "there is no cache")
        if told[0] == "!":
            return Message.new_error(asked, "org.freedesktop.DBus.Error.Failed", "it is gone")
        signature, body = told
        if asked.member == "Get":
            signature, body = "v", [Variant(signature, body[0])]
        return Message.new_method_return(asked, signature, body)

    def _told(self, path: str, member: str) -> tuple[str, list[Any]]:
        assert self._bus is not None
        me = self._bus.unique_name
        if member == "GetItems":
            return (CACHED, [[self.item(each) for each in self.elements]]) if self.cached else ("", [])
        if path == protocol.ROOT:
            below = [each for each, told in self.elements.items() if told.above == protocol.ROOT]
            plain = {"Name": ("s", ["liar"]), "ToolkitName": ("s", [self.toolkit]), "Version": ("s", ["1"])}
            return plain.get(member, ("a(so)", [[(me, each) for each in below]]))
        if path not in self.elements:
            return "!", []
        told = self.elements[path]
        if told.extents is None and member == "GetExtents":
            return "!", []
        return {
            "GetExtents": ("(iiii)", [told.extents]),
            "GetChildren": ("a(so)", [[(me, each) for each in told.below]]),
            "ChildCount": ("i", [len(told.below)]),
            "GetRole": ("u", [told.role]),
            "GetState": ("au", [[told.states & 0xFFFFFFFF, told.states >> 32]]),
            "Name": ("s", [told.name]),
            "GetInterfaces": ("as", [list(told.interfaces)]),
        }.get(member, ("!", []))

    def item(self, path: str) -> tuple[Any, ...]:
        """Return an element in the format of the cache."""
        assert self._bus is not None
        me, told = self._bus.unique_name, self.elements[path]
        states = [told.states & 0xFFFFFFFF, told.states >> 32]
        return (
            (me, path),
            (me, protocol.ROOT),
            (me, told.above),
            told.index,
            len(told.below),
            list(told.interfaces),
            told.name,
            told.role,
            "",
            states,
        )
