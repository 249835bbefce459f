"""Read the trees of all programs on a desktop's bus, in a thread, without waiting for one that hangs.

`Reader` is the main class; `desktop.elements.element_reader` uses it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import traceback
from concurrent.futures import Future

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.announcement import announce
from holo_tasks.accessibility.application import Application
from holo_tasks.accessibility.assembly import assemble_tree
from holo_tasks.accessibility.connection import DAEMON, BoundedBus, Connection, NoAnswer
from holo_tasks.accessibility.placement import View
from holo_tasks.accessibility.silence import NAP_S, Silence, await_answers
from holo_tasks.core.elements.elements import TOO_LATE, ElementTree

HANGS_S = 1.0
"""Seconds of `Silence` after which a program counts as one that hangs."""
LONGEST_S = 8.0
"""Longest wait for one reading of a program that goes on answering. The reading goes on after the wait."""
LATE_S = 0.2
"""Seconds to wait for a program that hangs, or for a reading that took longer than `LONGEST_S`."""
UNAWAITED_S = 6.0
"""Seconds of silence after which the reading of such a program ends, which goes on after the wait."""
MOST_APPLICATIONS = 40
PROGRAM_SIGNALS = (
    f"type='signal',sender='{protocol.REGISTRY}',path='{protocol.ROOT}'",
    f"type='signal',sender='{DAEMON}',member='NameOwnerChanged',arg0='{protocol.REGISTRY}'",
)
"""Match rules of the signals for programs, or the registry itself, that started or ended."""


class Reader:
    """The trees of all programs on one bus.

    `read` may be called from any thread, but only after the reading before it is done or cancelled.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._loop: asyncio.AbstractEventLoop | None = None
        self._registry: Connection | None = None
        self._names: list[str] | None = None
        self._applications: dict[str, Application] = {}
        self._last: tuple[object, ElementTree] | None = None
        self._announced: BoundedBus | None = None
        self._silence = Silence(lambda: 0 if self._registry is None else self._registry.received)

    def read(self, view: View, pid: int = 0) -> Future[ElementTree]:
        """Begin to read the current elements.

        The result comes as soon as each program has answered, hangs, or was waited for `LONGEST_S`. With the process
        ``pid``, the other programs are waited for `LATE_S`.
        """
        return asyncio.run_coroutine_threadsafe(self._read(view, pid), self._open_loop())

    def announce(self, for_programs: str) -> Future[None]:
        """Begin to tell programs that their elements are read. ``for_programs`` is the bus's address for programs."""
        return asyncio.run_coroutine_threadsafe(self._announce(for_programs), self._open_loop())

    async def _announce(self, for_programs: str) -> None:
        self._announced = await announce(self._address, for_programs)

    def _open_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="elements", daemon=True).start()
        return self._loop

    @property
    def busy(self) -> frozenset[tuple[str, str]]:
        """Return the busy elements as pairs of bus name and path. It may be called from any thread."""
        return frozenset((app.bus_name, path) for app in list(self._applications.values()) for path in app.busy)

    async def _read(self, view: View, pid: int) -> ElementTree:
        began = time.monotonic()
        try:
            hangs = self._silence.seconds >= HANGS_S
            found = await await_answers(self._find(), self._silence, LATE_S if hangs else HANGS_S)
        except NoAnswer:
            self._forget()
            return ElementTree(complete=False, why_not="The bus of the desktop does not answer.")
        except TimeoutError:
            return ElementTree(complete=False, why_not=f"The bus of the desktop: {TOO_LATE}.")
        await asyncio.gather(*(_await_reading(app, view, is_wanted=pid in (0, app.pid)) for app in found))
        mark = (view.windows, view.size, view.bound, [(app.bus_name, app.changes, app.note, app.late) for app in found])
        if self._last is None or self._last[0] != mark:
            self._last = mark, assemble_tree(found, view)
        reported = self._last[1]
        took_ms, moving = 1000 * (time.monotonic() - began), any(app.moving(view) for app in found)
        return ElementTree(
            reported.elements, reported.applications, took_ms, reported.complete, reported.why_not, moving
        )

    async def _find(self) -> list[Application]:
        """Return the programs that the registry lists.

        It does not start the registry: a program that publishes elements has started it. Raises `NoAnswer`.
        """
        if self._registry is None or not self._registry.open:
            self._forget()
            self._registry = await self._connect()
        registry = self._registry
        registry.allow()
        # The bus answers after it has sent all earlier signals, so the kept names are current.
        there = await registry.daemon("NameHasOwner", protocol.REGISTRY)
        if registry.take_changes() or not there:
            self._names = None
        if not there:
            return []
        names = self._names
        if names is None:
            reported = await registry.value(
                protocol.REGISTRY, protocol.ROOT, protocol.ACCESSIBLE, "GetChildren", "a(so)"
            )
            names = [name for name, path in reported if path != protocol.NULL][:MOST_APPLICATIONS]
        for name in self._applications.keys() - set(names):
            self._applications.pop(name).close()
        for name in names:
            if name not in self._applications:
                with contextlib.suppress(NoAnswer):  # it has just ended
                    pid = await registry.daemon("GetConnectionUnixProcessID", name)
                    self._applications[name] = Application(self._address, name, int(pid))
        self._names = names
        return [self._applications[name] for name in names if name in self._applications]

    async def _connect(self) -> Connection:
        """Return a connection that receives the signals for programs."""
        connection = await Connection.to(self._address)
        try:
            for rule in PROGRAM_SIGNALS:
                await connection.daemon("AddMatch", rule)
        except BaseException:  # without all rules it must not be used again
            connection.close()
            raise
        return connection

    def _forget(self) -> None:
        for app in self._applications.values():
            app.close()
        self._applications.clear()
        self._names = None


async def _await_reading(app: Application, view: View, *, is_wanted: bool = True) -> None:
    """Wait until a program is read, while the reading is wanted and the program answers. A late reading goes on in its
    task.

    A reading that began before this one may have missed a change, so it is followed by another.
    """
    began_before = app.reading is not None and not app.reading.done()
    await _await_task(app, view, is_wanted=is_wanted)
    if began_before and app.reading is not None and app.reading.done():
        await _await_task(app, view, is_wanted=is_wanted)


async def _await_task(app: Application, view: View, *, is_wanted: bool) -> None:
    """Wait for the reading that is under way, or begin one."""
    loop, reading = asyncio.get_running_loop(), app.reading
    if reading is None or reading.done():
        app.until_s = loop.time() + LONGEST_S
        most_s = UNAWAITED_S if app.late else HANGS_S
        reading = app.reading = asyncio.create_task(_refresh(app, view, most_s))
    await asyncio.wait([reading], timeout=LATE_S)
    # A program that leaves single calls unanswered goes on answering others, so it gets less time afterwards.
    silent_s = LATE_S if app.hung else HANGS_S
    while is_wanted and not reading.done() and app.silence.seconds < silent_s and loop.time() < app.until_s:
        await asyncio.wait([reading], timeout=NAP_S)
    app.late = app.late or not reading.done()
    app.hung = app.hung or (app.late and app.silence.seconds >= HANGS_S)


async def _refresh(app: Application, view: View, most_s: float) -> None:
    try:
        # A program that goes on sending signals may never answer a question.
        answers = await_answers(app.refresh(view), app.unanswered, LONGEST_S)
        await await_answers(answers, app.silence, most_s)
        app.hung = False
    except TimeoutError:
        app.hung = True
    except Exception:  # a program may send anything: an unforeseen answer must not break the other programs
        traceback.print_exc()
        app.unreadable()
