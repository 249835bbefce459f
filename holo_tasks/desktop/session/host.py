"""The process that owns one desktop: its X server, window manager, program and input.

`child` starts it and sends it requests over a socket. It ends on the request ``close``, or when the other process ends.
"""

from __future__ import annotations

import os
import queue
import select
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from holo_tasks.core import errors
from holo_tasks.core.input.gestures import Pause
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import processes
from holo_tasks.desktop.input.gate import Gate, Served
from holo_tasks.desktop.programs import other_user
from holo_tasks.desktop.programs.closing import CLOSES_S
from holo_tasks.desktop.sandbox import cgroup_limits
from holo_tasks.desktop.session import ipc_messages
from holo_tasks.desktop.session.ipc_messages import Message
from holo_tasks.desktop.stop.shared_flags import SharedFlags
from holo_tasks.desktop.x11 import shared_libraries
from holo_tasks.desktop.x11.opengl import GlxMissing
from holo_tasks.machine.memory import QUIET_S, return_free_memory, reuse
from holo_tasks.machine.process_protection import close_process
from holo_tasks.machine.umask import narrow_umask

GRACE_S = CLOSES_S + 3.0
"""Seconds to end in good order after the other process has ended."""


def main() -> None:
    """Serve one desktop.

    The arguments are the descriptors of the socket, the pixels and the flags, and the parent's ID.
    """
    close_process()  # this process holds the values of secrets
    narrow_umask()
    reuse()
    shared_libraries.find_at_once()
    channel, pixels, page, parent = (int(argument) for argument in sys.argv[1:5])
    with socket.socket(fileno=channel) as link:
        Host(link, pixels, Gate(SharedFlags(page)), parent).run()


class Host:
    """Reads requests in one thread and carries them out in the main thread."""

    def __init__(self, channel: socket.socket, pixels: int, gate: Gate, parent: int) -> None:
        self._channel = channel
        self._pixels = pixels
        self._parent = parent
        self._gate = gate
        self._requests: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._folder: Path | None = None
        self._station: Any = None

    def run(self) -> None:
        """Serve until the request ``close`` or the end of the other process. Then clean up."""
        processes.adopt_orphans()
        order = self._read_message()
        if order is None:
            return
        self._folder = Path(order["folder"])
        try:
            self._open(order)
            while (request := self._next()) is not None and request["ask"] != "close":
                self._answer(request)
        finally:
            asked = self._end()
        if request is not None:
            self._say({"id": request["id"], "asked": asked})

    def _next(self) -> Message | None:
        try:
            return self._requests.get(timeout=QUIET_S)
        except queue.Empty:
            return_free_memory()
            return self._requests.get()

    def _open(self, order: Message) -> None:
        from holo_tasks.desktop.session.x_session import XSession

        def listen() -> None:
            threading.Thread(target=self._listen, name="requests", daemon=True).start()

        try:
            self._gate.arm(order["id"], None)
            self._station = XSession(order, self._pixels, self._gate)
            started = self._station.start(then=listen)
            self._say({"id": order["id"], **started})
            self._station.warm_up()
        except GlxMissing:
            self._say({"id": order["id"], "asked_for_opengl": ""})
            self._requests.put(None)
        except Exception as error:
            self._say({"id": order["id"], **self._error_message(error)})
            self._requests.put(None)

    def _answer(self, request: Message) -> None:
        self._gate.arm(request["id"], request.get("deadline"))
        try:
            answer = getattr(self, f"_{request['ask']}")(request)
        except Exception as error:
            answer = self._error_message(error)
        # Part of each answer, because a failed gesture may have typed something as well.
        typed = ipc_messages.from_typed(self._station.take_typed_places())
        self._say({"id": request["id"], **answer, "typed": typed})
        if request["ask"] == "look":
            self._station.read_ahead()

    def _look(self, request: Message) -> Message:
        with self._look_allowed(request):
            answer: Message = self._station.look(after_action=request["after_action"], windows=request["windows"])
        return answer

    @contextmanager
    def _look_allowed(self, request: Message) -> Iterator[None]:
        """With ``looks_on``, allow a look while a person has the screen.

        It first waits until the program has read its input.
        """
        if not request.get("looks_on"):
            yield
            return
        with self._gate.clearing():
            self._station.await_processing()
            yield

    def _do(self, request: Message) -> Message:
        gesture = ipc_messages.to_gesture(request["gesture"])
        try:
            self._gate.admit(gesture, ipc_messages.to_permit(request["slip"]))
            answer: Message = self._station.do(gesture, expects_change=not isinstance(gesture, Pause))
        finally:
            self._gate.leave()
        return answer

    def _serve(self, request: Message) -> Message:
        self._gate.serve(Served(request["run_id"], request["began_s"], Path(request["folder"])))
        return {}

    def _hold(self, request: Message) -> Message:
        with self._gate.clearing():
            self._station.hand_to_person()
        return {}

    def _release(self, request: Message) -> Message:
        self._station.take_from_person()
        return {}

    def _by_hand(self, request: Message) -> Message:
        with self._gate.in_use():
            self._station.send_person_input(ipc_messages.to_inputs(request["inputs"]))
        return {}

    def _open_vnc(self, request: Message) -> Message:
        return {"path": str(self._station.open_vnc())}

    def _close_vnc(self, request: Message) -> Message:
        self._station.close_vnc(Path(request["path"]))
        return {}

    def _windows(self, request: Message) -> Message:
        self._gate.check()
        return {"windows": self._station.windows()}

    def _monitors(self, request: Message) -> Message:
        return {"monitors": self._station.monitors()}

    def _setting(self, request: Message) -> Message:
        return {"setting": self._station.calibration_setting()}

    def _open_target(self, request: Message) -> Message:
        self._gate.check()
        return {"target": self._station.click_windows.open([Point(*point) for point in request["points"]])}

    def _target(self, request: Message) -> Message:
        return {"target": self._station.click_windows.measurement()}

    def _close_target(self, request: Message) -> Message:
        self._station.click_windows.close()
        return {}

    def _repainting_areas(self, request: Message) -> Message:
        self._gate.check()
        return {"boxes": self._station.repainting_areas()}

    def _elements(self, request: Message) -> Message:
        with self._gate.clearing() if request.get("looks_on") else nullcontext():
            self._gate.check()
            answer: Message = self._station.elements(request["known"])
        return answer

    def _owner(self, request: Message) -> Message:
        self._gate.check()
        at = request["at"]
        return {"owner": self._station.owner(Point(**at) if at else None)}

    def _put_foreign_behind(self, request: Message) -> Message:
        self._gate.check()
        return {"done": self._station.put_foreign_behind(covering=request["covering"])}

    def _fit_window(self, request: Message) -> Message:
        self._gate.check()
        return {"done": self._station.fit_window()}

    def _error_message(self, error: Exception) -> Message:
        """Convert any error to a message that says what to do. Details of unexpected errors go to the log."""
        if self._station is not None:
            error = self._station.explain(error)
        if not isinstance(error, errors.HoloError):
            traceback.print_exception(error)
            error = errors.DesktopFailed(f"The desktop failed unexpectedly: {type(error).__name__}: {error}")
        answer = ipc_messages.from_error(error)
        if self._station is not None:
            answer["message"] = self._station.vault.hide(answer["message"])
        return answer

    def _say(self, message: Message) -> None:
        try:
            self._channel.sendall(ipc_messages.packed(message))
        except OSError:
            self._requests.put(None)  # the other process has ended

    def _read_message(self) -> Message | None:
        """Read one message.

        Returns ``None`` if the other process has closed the socket or ended, or sent no valid message.
        """
        head = self._receive(ipc_messages.HEADER.size)
        try:
            body = self._receive(ipc_messages.length(head)) if head else None
            return ipc_messages.unpacked(body) if body is not None else None
        except ipc_messages.MalformedMessage as error:
            traceback.print_exception(error)
            return None

    def _receive(self, size: int) -> bytes | None:
        received = b""
        while len(received) < size:
            try:
                some = self._channel.recv(size - len(received))
            except OSError:
                return None
            if not some:
                return None
            received += some
        return received

    def _listen(self) -> None:
        # A forked child of the other process may keep the socket open, so the end of the process itself is watched.
        parent = os.pidfd_open(self._parent)
        while True:
            ready, _, _ = select.select([self._channel.fileno(), parent], [], [])
            request = None if parent in ready else self._read_message()
            if request is None:
                break
            if request["ask"] == "stop":
                self._gate.stop(request["of"])
            else:
                self._requests.put(request)
        self._requests.put(None)
        self._gate.stop()
        # The main thread may hang on a stopped X server, so this thread cleans up in its place.
        time.sleep(GRACE_S)
        processes.end(lambda: processes.descendants(os.getpid()), grace_s=0)
        if self._station is not None:
            self._station.remove_sockets()
        if self._folder is not None:
            processes.remove(self._folder)
            other_user.remove_folders(self._folder)
            cgroup_limits.clear(self._folder.name)
        os._exit(1)

    def _end(self) -> list[str]:
        """End the programs, then the X server. Return the titles of dialogs that the programs opened meanwhile."""
        asked: list[str] = []
        try:
            if self._station is not None:
                self._station.leave()
                asked = self._station.end_programs()
        except Exception:
            traceback.print_exc()
        processes.end(lambda: processes.descendants(os.getpid()), grace_s=1.0)
        processes.reap()
        if self._station is not None:
            self._station.remove_sockets()
        if self._folder is not None:
            processes.remove(self._folder)
            other_user.remove_folders(self._folder)
            cgroup_limits.clear(self._folder.name)
        return asked


if __name__ == "__main__":
    main()
