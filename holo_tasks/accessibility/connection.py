"""A connection to one program over the bus, which can neither hold us up nor fill our memory."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Self

from dbus_fast import AuthError, InvalidAddressError, Message, MessageType
from dbus_fast.aio import MessageBus

from holo_tasks.accessibility.changes import Changes

MOST_BYTES = 8 * 1024 * 1024
"""What a program may send for one reading of its tree: 5,000 elements take one or two megabytes."""
IN_FLIGHT = 64
"""So many questions a program is asked before it has answered the first of them."""
MOST_BUSY = 64
"""With more busy elements than this, most of them have gone without a word: they are forgotten."""
FULL_S = 0.001
"""When it is tried again to send to a program that has not read what it was sent."""
PROPERTIES = "org.freedesktop.DBus.Properties"
DAEMON, DAEMON_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"


class NoAnswer(Exception):
    """A program answers with an error, or the connection is gone."""


@dataclass(frozen=True, slots=True)
class Question:
    """What one element of a program is asked: a method, with the kind (a signature) of the answer that counts."""

    path: str
    interface: str
    member: str
    kind: str
    signature: str = ""
    body: tuple[Any, ...] = ()
    of_property: str = ""
    """The kind that a property is to be of, whatever it is wrapped in."""

    def read(self, answer: Message) -> Any:
        """Return what is answered; None if that is an error, or of another kind."""
        if answer.message_type is MessageType.ERROR or answer.signature != self.kind:
            return None
        (told,) = answer.body
        if not self.of_property:
            return told
        return told.value if told.signature == self.of_property else None


def method(path: str, interface: str, member: str, kind: str, *arguments: int) -> Question:
    """Return the question for what a method answers with."""
    signature = ("u" if member == "GetExtents" else "i") * len(arguments)
    return Question(path, interface, member, kind, signature, arguments)


def property_of(path: str, interface: str, member: str, kind: str) -> Question:
    """Return the question for a property."""
    return Question(path, PROPERTIES, "Get", "v", "ss", (interface, member), kind)


def properties_of(path: str, interface: str) -> Question:
    """Return the question for all properties of an interface."""
    return Question(path, PROPERTIES, "GetAll", "a{sv}", "s", (interface,))


class Connection:
    """One connection; its methods are for one event loop."""

    def __init__(self, bus: BoundedBus) -> None:
        self._bus = bus
        self._heard = Changes()
        self.busy: frozenset[str] = frozenset()
        """The elements that said last that they are busy, as documents do while they load."""
        self._bus.add_message_handler(self._hear)

    @classmethod
    async def to(cls, address: str) -> Self:
        """Connect to a bus. Raises `NoAnswer` if that is not possible."""
        try:
            bus = BoundedBus(bus_address=address)
            await bus.connect()
        except (OSError, EOFError, AuthError, InvalidAddressError, TypeError, ValueError) as error:
            raise NoAnswer(f"The bus does not answer: {error}") from error
        return cls(bus)

    @property
    def overrun(self) -> bool:
        """Whether more was sent than may be."""
        return self._bus.guarded.left < 0

    @property
    def open(self) -> bool:
        """Whether anything can be asked."""
        return bool(self._bus.connected)

    def allow(self, most: int = MOST_BYTES) -> None:
        """Let so many bytes come from now on; with more the connection closes."""
        self._bus.guarded.left = most

    async def ask(
        self, name: str, path: str, interface: str, member: str, signature: str = "", body: Sequence[Any] = ()
    ) -> tuple[str, list[Any]]:
        """Call a method; return the signature of the answer and its values. Raises `NoAnswer`."""
        message = Message(name, path, interface, member, signature=signature, body=list(body))
        try:
            answer = await self._bus.call(message)
        except Exception as error:  # what the library fell over as it read closes the connection, whatever it was
            raise NoAnswer(str(error)) from error
        if answer is None or answer.message_type is MessageType.ERROR:
            raise NoAnswer(str(answer and answer.error_name))
        return answer.signature, answer.body

    async def all(self, name: str, questions: Sequence[Question]) -> list[Any]:
        """Ask a program many things, a few at a time; None stands for what is not answered. Raises `NoAnswer`.

        For each question a task of its own would take longer than all else.
        """
        if not questions:
            return []
        found: list[Any] = [None] * len(questions)
        done, waiting, left = asyncio.get_running_loop().create_future(), enumerate(questions), len(questions)

        def ask() -> None:
            for place, each in islice(waiting, 1):
                message = Message(
                    name, each.path, each.interface, each.member, signature=each.signature, body=list(each.body)
                )
                try:
                    self._bus.begin(message, partial(take, place, each))
                except Exception as error:  # as above
                    fail(error)

        def fail(error: Exception | None) -> None:
            if not done.done():
                done.set_exception(NoAnswer(str(error)))

        def take(place: int, question: Question, answer: Message | None, error: Exception | None) -> None:
            nonlocal left
            if done.done():
                return  # nobody waits for it any more
            if answer is None:
                fail(error)
                return
            found[place] = question.read(answer)
            left -= 1
            if left:
                ask()
            else:
                done.set_result(None)

        for _ in range(IN_FLIGHT):
            ask()
        await done
        return found

    async def value(self, name: str, path: str, interface: str, member: str, kind: str, *arguments: int) -> Any:
        """Return the one value a method answers with, if it is of this kind (a signature). Raises `NoAnswer`."""
        signature = ("u" if member == "GetExtents" else "i") * len(arguments)
        told, body = await self.ask(name, path, interface, member, signature, arguments)
        if told != kind:
            raise NoAnswer(f"{member} answers with {told[:20]}, not {kind}")
        return body[0]

    async def property(self, name: str, path: str, interface: str, member: str, kind: str) -> Any:
        """Return a property, if it is of this kind (a signature). Raises `NoAnswer`."""
        told, body = await self.ask(name, path, PROPERTIES, "Get", "ss", [interface, member])
        if told != "v" or body[0].signature != kind:
            raise NoAnswer(f"{member} is of another kind")
        return body[0].value

    async def daemon(self, member: str, argument: str) -> Any:
        """Ask the bus itself something about a name, or to pass signals on. Raises `NoAnswer`."""
        _, body = await self.ask(DAEMON, DAEMON_PATH, DAEMON, member, "s", [argument])
        return body[0] if body else None

    def taken(self) -> Changes:
        """Return what was heard since this was last asked."""
        heard, self._heard = self._heard, Changes()
        return heard

    def close(self) -> None:
        """Leave the bus."""
        if self._bus.connected:
            self._bus.disconnect()

    def _hear(self, message: Message) -> None:
        own = message.sender == DAEMON and message.member != "NameOwnerChanged"
        if message.message_type is MessageType.SIGNAL and not own:
            if message.member == "StateChanged" and list(message.body[:1]) == ["busy"]:
                self._hear_busy(message.path or "", begins=message.body[1:2] != [0])
            self._heard.hear(message.path or "", message.interface or "", message.member or "", message.body)

    def _hear_busy(self, path: str, *, begins: bool) -> None:
        """Note what an element says of itself. Firefox says of the new document that it is done, not of the old one."""
        if not begins:
            self.busy = self.busy - {path} if path in self.busy else frozenset()
        else:
            self.busy = self.busy | {path} if len(self.busy) < MOST_BUSY else frozenset({path})


class Guarded(socket.socket):
    """A socket that only so many bytes may come from."""

    left = MOST_BYTES

    def __init__(self, *kind: int) -> None:
        super().__init__(*kind)
        self._waiting = bytearray()

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        self.left -= len(data)
        if self.left < 0:
            raise ConnectionAbortedError(errno.ECONNABORTED, "a program sends more than is read of any")
        return data

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Take bytes to be sent with all others of this moment: many questions then cost one call of the kernel."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += data
        return len(data)

    def _flush(self) -> None:
        try:
            sent = super().send(self._waiting)
        except BlockingIOError:
            sent = 0
        except OSError:  # the end of the connection: who reads is told
            self._waiting.clear()
            return
        del self._waiting[:sent]
        if self._waiting:
            asyncio.get_running_loop().call_later(FULL_S, self._flush)


class BoundedBus(MessageBus):  # type: ignore[misc]  # its types are not read
    """dbus-fast's bus on such a socket: of its own it takes messages of 128 MB."""

    guarded: Guarded

    def begin(self, message: Message, then: Callable[[Message | None, Exception | None], None]) -> None:
        """Call a method; ``then`` gets the answer, or None with what it was that there is none."""
        self._call(message, then)

    def _create_socket_for_transport(self, transport: str, options: dict[str, str]) -> tuple[Any, Any, Any]:
        if transport != "unix":
            raise InvalidAddressError(f"a bus on this machine has a socket, not {transport}")
        where = options["path"] if "path" in options else "\0" + options.get("abstract", "")
        self.guarded = Guarded(socket.AF_UNIX, socket.SOCK_STREAM)
        return self.guarded, self.guarded.makefile("rwb"), where


async def answers(*asked: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Ask many things at once, a few at a time; None stands for what is not answered."""
    room = asyncio.Semaphore(IN_FLIGHT)

    async def one(question: Callable[[], Awaitable[Any]]) -> Any:
        async with room:
            try:
                return await question()
            except NoAnswer:
                return None

    return list(await asyncio.gather(*map(one, asked)))
