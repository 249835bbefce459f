"""Connect to one program over D-Bus, with limits on pending calls and received bytes.

`Connection` is the main class; `application` and `reader` use it.
"""

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
"""Most bytes that a program may send for one reading of its tree. 5,000 elements take one or two megabytes."""
IN_FLIGHT = 64
"""Most calls to a program that wait for an answer at the same time."""
MOST_BUSY = 64
"""Most busy elements that are kept. With more, most must be gone without a signal, so all are forgotten."""
RETRY_S = 0.001
"""Seconds until the next attempt to send to a bus whose socket is full."""
PROPERTIES = "org.freedesktop.DBus.Properties"
DAEMON, DAEMON_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"


class NoAnswer(Exception):
    """A program answered with an error, or the connection is closed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A method call to one element of a program. ``kind`` is the D-Bus signature of a valid answer."""

    path: str
    interface: str
    member: str
    kind: str
    signature: str = ""
    body: tuple[Any, ...] = ()
    of_property: str = ""
    """The signature of the property inside the variant of the answer; empty for other methods."""

    def read(self, answer: Message) -> Any:
        """Return the value of an answer; ``None`` if it is an error or has another signature."""
        if answer.message_type is MessageType.ERROR or answer.signature != self.kind:
            return None
        (reported,) = answer.body
        if not self.of_property:
            return reported
        return reported.value if reported.signature == self.of_property else None


def method(path: str, interface: str, member: str, kind: str, *arguments: int) -> Question:
    """Return the question that calls a method with numbers."""
    signature = ("u" if member == "GetExtents" else "i") * len(arguments)
    return Question(path, interface, member, kind, signature, arguments)


def property_of(path: str, interface: str, member: str, kind: str) -> Question:
    """Return the question for a property."""
    return Question(path, PROPERTIES, "Get", "v", "ss", (interface, member), kind)


def properties_of(path: str, interface: str) -> Question:
    """Return the question for all properties of an interface."""
    return Question(path, PROPERTIES, "GetAll", "a{sv}", "s", (interface,))


class Connection:
    """One connection to the bus. Its methods must be called in one event loop."""

    def __init__(self, bus: BoundedBus) -> None:
        self._bus = bus
        self._heard = Changes()
        self.busy: frozenset[str] = frozenset()
        """Paths of the elements that are busy by their last signal, as documents are while they load."""
        self.answered = 0
        """Number of questions that were answered."""
        self._bus.add_message_handler(self._hear)

    @classmethod
    async def to(cls, address: str) -> Self:
        """Connect to a bus. Raises `NoAnswer` if that fails."""
        try:
            bus = BoundedBus(bus_address=address)
            await bus.connect()
        except (OSError, EOFError, AuthError, InvalidAddressError, TypeError, ValueError) as error:
            raise NoAnswer(f"The bus does not answer: {error}") from error
        return cls(bus)

    @property
    def overrun(self) -> bool:
        """Return whether the program sent more bytes than allowed."""
        return self._bus.guarded.left < 0

    @property
    def received(self) -> int:
        """Return the number of bytes that were received."""
        return self._bus.guarded.received

    @property
    def open(self) -> bool:
        """Return whether the connection is open."""
        return bool(self._bus.connected)

    def allow(self, most: int = MOST_BYTES) -> None:
        """Accept ``most`` bytes from now on; with more the connection closes."""
        self._bus.guarded.left = most

    async def ask(
        self, name: str, path: str, interface: str, member: str, signature: str = "", body: Sequence[Any] = ()
    ) -> tuple[str, list[Any]]:
        """Call a method; return the signature and the values of the answer. Raises `NoAnswer`."""
        message = Message(name, path, interface, member, signature=signature, body=list(body))
        try:
            answer = await self._bus.call(message)
        except Exception as error:  # any error of the library while it reads closes the connection
            raise NoAnswer(str(error)) from error
        self.answered += 1
        if answer is None or answer.message_type is MessageType.ERROR:
            raise NoAnswer(str(answer and answer.error_name))
        return answer.signature, answer.body

    async def all(self, name: str, questions: Sequence[Question]) -> list[Any]:
        """Ask a program many questions, at most ``IN_FLIGHT`` at a time; return the answers in order.

        Errors and answers of other kinds are ``None``. Raises `NoAnswer` if the connection breaks. It starts no task
        for each question, because that would take longer than everything else.
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
                return  # the call has failed or was cancelled
            if answer is None:
                fail(error)
                return
            found[place] = question.read(answer)
            self.answered += 1
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
        """Call a method and return its one value. Raises `NoAnswer` if its signature is not ``kind``."""
        signature = ("u" if member == "GetExtents" else "i") * len(arguments)
        reported, body = await self.ask(name, path, interface, member, signature, arguments)
        if reported != kind:
            raise NoAnswer(f"{member} answers with {reported[:20]}, not {kind}")
        return body[0]

    async def property(self, name: str, path: str, interface: str, member: str, kind: str) -> Any:
        """Return a property. Raises `NoAnswer` if its signature is not ``kind``."""
        reported, body = await self.ask(name, path, PROPERTIES, "Get", "ss", [interface, member])
        if reported != "v" or body[0].signature != kind:
            raise NoAnswer(f"{member} is of another kind")
        return body[0].value

    async def daemon(self, member: str, argument: str) -> Any:
        """Call a method of the bus itself with one text; return its first value or ``None``. Raises `NoAnswer`."""
        _, body = await self.ask(DAEMON, DAEMON_PATH, DAEMON, member, "s", [argument])
        return body[0] if body else None

    def take_changes(self) -> Changes:
        """Return the changes that were signalled since the last call."""
        changes, self._heard = self._heard, Changes()
        return changes

    def close(self) -> None:
        """Close the connection to the bus."""
        if self._bus.connected:
            self._bus.disconnect()

    def _hear(self, message: Message) -> None:
        own = message.sender == DAEMON and message.member != "NameOwnerChanged"
        if message.message_type is MessageType.SIGNAL and not own:
            if message.member == "StateChanged" and list(message.body[:1]) == ["busy"]:
                self._hear_busy(message.path or "", begins=message.body[1:2] != [0])
            self._heard.record_signal(message.path or "", message.interface or "", message.member or "", message.body)

    def _hear_busy(self, path: str, *, begins: bool) -> None:
        """Record whether an element is busy.

        Firefox signals the end for the new document only. So an end from an unknown element clears all busy ones.
        """
        if not begins:
            self.busy = self.busy - {path} if path in self.busy else frozenset()
        else:
            self.busy = self.busy | {path} if len(self.busy) < MOST_BUSY else frozenset({path})


class LimitedSocket(socket.socket):
    """A socket that receives a limited number of bytes."""

    left = MOST_BYTES
    received = 0

    def __init__(self, *kind: int) -> None:
        super().__init__(*kind)
        self._waiting = bytearray()

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        self.received += len(data)
        self.left -= len(data)
        if self.left < 0:
            raise ConnectionAbortedError(errno.ECONNABORTED, "a program sent more data than the limit")
        return data

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Collect bytes, and send them all at the next turn of the loop: many questions then take one system call."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += data
        return len(data)

    def _flush(self) -> None:
        try:
            sent = super().send(self._waiting)
        except BlockingIOError:
            sent = 0
        except OSError:  # the connection has ended, which the reader reports
            self._waiting.clear()
            return
        del self._waiting[:sent]
        if self._waiting:
            asyncio.get_running_loop().call_later(RETRY_S, self._flush)


class BoundedBus(MessageBus):  # type: ignore[misc]  # its types are not read
    """dbus-fast's bus on a `LimitedSocket`. By itself it would accept messages of 128 MB."""

    guarded: LimitedSocket

    def begin(self, message: Message, then: Callable[[Message | None, Exception | None], None]) -> None:
        """Call a method; ``then`` gets the answer and ``None``, or ``None`` and the error."""
        self._call(message, then)

    def _create_socket_for_transport(self, transport: str, options: dict[str, str]) -> tuple[Any, Any, Any]:
        if transport != "unix":
            raise InvalidAddressError(f"a bus on this machine has a socket, not {transport}")
        where = options["path"] if "path" in options else "\0" + options.get("abstract", "")
        self.guarded = LimitedSocket(socket.AF_UNIX, socket.SOCK_STREAM)
        return self.guarded, self.guarded.makefile("rwb"), where


async def answers(*asked: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Call functions, at most ``IN_FLIGHT`` at a time; return their results in order, ``None`` for `NoAnswer`."""
    room = asyncio.Semaphore(IN_FLIGHT)

    async def one(question: Callable[[], Awaitable[Any]]) -> Any:
        async with room:
            try:
                return await question()
            except NoAnswer:
                return None

    return list(await asyncio.gather(*map(one, asked)))
