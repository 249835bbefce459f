"""The client side of a host process: starts it, sends it requests, ends it and cleans up.

`Desktop` uses one `Child` per desktop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed, HoloError, Killed
from holo_tasks.desktop import processes
from holo_tasks.desktop.programs import other_user
from holo_tasks.desktop.sandbox import cgroup_limits
from holo_tasks.desktop.session import ipc_messages, leftovers
from holo_tasks.desktop.session.ipc_messages import Message
from holo_tasks.desktop.stop.shared_flags import SharedFlags
from holo_tasks.desktop.x11 import x_server as xserver
from holo_tasks.machine.umask import users_umask

GRACE_S = 8.0
"""Seconds for a stop or a close, which normally take milliseconds. Afterwards the desktop is killed."""
MEND_S = 3.0
"""Seconds to wait for the repair of a borrowed X server. A frozen server is repaired when it continues."""


class Child:
    """One host process. It carries out requests one after the other; any event loop may make them."""

    def __init__(self, env: dict[str, str], borrowed: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{leftovers.PREFIX}{os.getpid()}-"))
        self._held = leftovers.mark_in_use(self.folder)
        self.env = {**env, processes.MARK: self.folder.name}
        self.watch = -1
        self._keymap_guard = self._start_keymap_guard(borrowed) if borrowed else None
        self.own_display = ""
        self.turn = asyncio.Lock()
        self._last_id = 0
        self._over = False
        self._speaking = False
        self._pixels = os.memfd_create("holo-pixels")
        gate = SharedFlags.create()
        self.page = SharedFlags(gate)
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        with theirs, (self.folder / "host.log").open("wb") as log:
            passed = (theirs.fileno(), self._pixels, gate)
            watch = (self.watch,) if borrowed else ()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "holo_tasks.desktop.session.host", *map(str, passed), str(os.getpid())],
                env=self._environment_with_source(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=passed + watch,
                umask=users_umask(),  # the umask for programs; this process may have a stricter one
                start_new_session=True,  # so that Ctrl+C reaches this process only
            )
        for descriptor in (gate, *watch):
            os.close(descriptor)

    def _start_keymap_guard(self, display: str) -> subprocess.Popen[bytes]:
        """Start the process that repairs a borrowed X server if the host dies. Keep the pipe end that the host gets."""
        reads, self.watch = os.pipe()
        env = self._environment_with_source()
        del env[processes.MARK]  # it outlives the desktop
        with open(reads, "rb") as pipe:  # noqa: PTH123
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "holo_tasks.desktop.session.restore_keymap", display],
                env=env,
                stdin=pipe,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _environment_with_source(self) -> dict[str, str]:
        """Return the environment for processes of the library, with this package on ``PYTHONPATH``."""
        source = str(Path(__file__).parents[3])
        return {**self.env, "PYTHONPATH": os.pathsep.join(filter(None, [source, self.env.get("PYTHONPATH")]))}

    @property
    def pid(self) -> int:
        """The host's process ID."""
        return self._process.pid

    async def ask(self, what: str, **details: object) -> Message:
        """Send one request and return the answer. The caller holds ``turn`` meanwhile.

        Raises the error that the host answers with, or `DesktopFailed` if the host has died. Cancelling stops the
        current gesture and then raises. The ``typed`` of the error lists the areas that may show secrets, as in a
        `HoloError`.
        """
        if self._over:
            raise DesktopFailed("The desktop was closed: start another one.")
        self._last_id += 1
        request = {"ask": what, "id": self._last_id, **details}
        exchange = asyncio.ensure_future(self._exchange(request))
        self._speaking = True
        try:
            answer = await asyncio.shield(exchange)
        except asyncio.CancelledError as error:
            if (answer := await self._stop(exchange)) is not None:
                # The original error is kept, because `asyncio.timeout` recognizes only that one.
                error.typed = ipc_messages.to_typed(answer.get("typed", ()))  # type: ignore[attr-defined]
            raise
        except OSError:
            answer = None
        finally:
            self._speaking = False
            if self._over:
                self._channel.close()
        if answer is None:
            raise await self._death_error()
        if "error" in answer:
            raise ipc_messages.to_error(answer)
        return answer

    async def _exchange(self, request: Message) -> Message | None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._channel, ipc_messages.packed(request))
        while (answer := await self._receive()) is not None and answer.get("id") != request["id"]:
            pass
        return answer

    async def _receive(self) -> Message | None:
        head = await self._exactly(ipc_messages.HEADER.size)
        try:
            body = await self._exactly(ipc_messages.length(head)) if head else None
            return ipc_messages.unpacked(body) if body is not None else None
        except ipc_messages.MalformedMessage:
            self._process.kill()  # later messages would be misread
            raise

    async def _exactly(self, size: int) -> bytes | None:
        loop, received = asyncio.get_running_loop(), bytearray()
        while len(received) < size:
            some = await loop.sock_recv(self._channel, size - len(received))
            if not some:
                return None
            received += some
        return bytes(received)

    async def _stop(self, exchange: asyncio.Future[Message | None]) -> Message | None:
        """Have the host stop the current request and return its answer. A host that does not stop in time is killed."""
        try:
            self._tell_to_stop()
            return await asyncio.wait_for(exchange, GRACE_S)
        except (TimeoutError, asyncio.CancelledError):
            self.kill()
        except OSError:
            pass
        return None

    def _tell_to_stop(self) -> None:
        with contextlib.suppress(OSError):
            self._channel.send(ipc_messages.packed({"ask": "stop", "of": self._last_id}))

    def pixels(self, count: int) -> bytes:
        """Return the first ``count`` bytes of the shared memory. They are the pixels of the host's last answer."""
        return os.pread(self._pixels, count, 0)  # faster than a map, whose pages come one by one

    async def close(self) -> list[str]:
        """End the desktop in good order or, after `GRACE_S`, by force.

        Return the titles of dialogs that programs opened.
        """
        asked: list[str] = []
        try:
            self._tell_to_stop()
            async with asyncio.timeout(GRACE_S), self.turn:
                if not self._over:
                    asked = (await self.ask("close")).get("asked", [])
        except (DesktopFailed, TimeoutError):
            pass
        finally:
            await asyncio.shield(asyncio.to_thread(self.kill))
        return asked

    def kill(self) -> None:
        """End the host, its programs and its X server now, and remove their files."""
        if self._over:
            return
        self._over = True
        # A request that waits for its answer would wait for ever on a closed socket, so the socket is shut down.
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        if not self._speaking:
            self._channel.close()
        os.close(self._pixels)
        host = self._process.pid
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self._process.kill()
        self._process.wait()
        # The X server gets time to end by itself, and removes its socket then.
        processes.end(lambda: processes.processes_of_desktop(self.folder.name, host), grace_s=1.0)
        if self._keymap_guard is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it finishes by itself
                self._keymap_guard.wait(MEND_S)
        if self.own_display:
            xserver.remove_socket(self.own_display)
        processes.remove(self.folder)
        self._held.close()
        other_user.remove_folders(self.folder)
        cgroup_limits.clear(self.folder.name)

    async def _death_error(self) -> HoloError:
        if self._over:
            return Killed("The desktop was ended while it was in use.")
        status = await asyncio.to_thread(self._process.wait)
        words = processes.last_words(self.folder / "host.log")
        await asyncio.to_thread(self.kill)
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        said = f" ({words})" if words else ""
        return DesktopFailed(f"The process of the desktop {how}{said}: start the desktop again.")
