"""Start the program of a desktop, and wait for its first window.

`Program` is the main class; `x_session` and `remote_session` use it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.desktop import processes
from holo_tasks.desktop.profiles.wrappers import command_in_terminal
from holo_tasks.desktop.programs.other_user import OtherUserFolders
from holo_tasks.desktop.programs.start_time import StartTime
from holo_tasks.desktop.sandbox.bubblewrap import SAYS, failure_reason
from holo_tasks.desktop.sandbox.start import Sandbox
from holo_tasks.desktop.stop.interrupt import Interrupt
from holo_tasks.desktop.x11 import windows
from holo_tasks.desktop.x11.x_connection import XConnection
from holo_tasks.machine.umask import users_umask

MOST_NAMED = 5
DOUBTED_S = 3.0
"""Seconds for which the window of a terminal must stay, if the command inside it was not found."""
SPLASH_S, SPLASH_SHARE = 15.0, 0.8
"""Seconds, and share of the time for the start, for which a splash screen does not count as a program's window."""


class Program:
    """One started program and its log."""

    def __init__(
        self,
        command: list[str],
        env: Mapping[str, str],
        folder: Path,
        link: XConnection,
        *,
        kept_back: Sequence[str] = (),
        lodging: OtherUserFolders | None = None,
        sandbox: Sandbox | None = None,
        feed: bytes = b"",
        hint: Callable[[int | None], str] = lambda status: "",
    ) -> None:
        """Start the program. Raises `DesktopFailed` if it is not found or cannot be started.

        ``feed`` is the program's standard input, at most as large as a pipe's buffer. ``kept_back`` holds the names of
        environment variables that the program did not get. ``hint`` returns advice for a program without a window, by
        its exit status (``None``: it still runs).
        """
        self.command = command
        self._kept_back = kept_back
        self._closed = sandbox is not None
        self._path = env.get("PATH")
        self._what_to_do = hint
        self._log = folder / "program.log"
        self._link = link
        self._before = set(windows.shown_windows(link))
        user = lodging.user if lodging else None
        another = f" as {user.name}" if user else ""

        def popen(words: Sequence[str], pass_fds: Collection[int] = ()) -> subprocess.Popen[bytes]:
            with self._log.open("wb") as log, _pipe_with(feed) as stdin:
                return subprocess.Popen(
                    words,
                    env=dict(env),
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    pass_fds=pass_fds,
                    preexec_fn=processes.end_with_parent(signal.SIGKILL),
                    umask=users_umask(),
                    user=user.uid if user else None,
                    group=user.gid if user else None,
                    extra_groups=user.groups if user else None,
                    cwd=lodging.working_folder if lodging else None,
                )

        try:
            if sandbox is None:
                self.process = popen(command)
            else:
                self.process = sandbox.start(command, env.get("PATH"), popen, self._log)
        except FileNotFoundError:
            raise DesktopFailed(
                f"The program {command[0]!r} was not found{another}: install it, or give its full path."
            ) from None
        except OSError as error:
            raise DesktopFailed(f"The program {command[0]!r} cannot be started{another}: {error.strerror}.") from None

    def await_window(
        self, timeout_s: float, interrupt: Interrupt, pids: Callable[[], Collection[int]], heed: Callable[[], None]
    ) -> None:
        """Wait until a new window is on the screen. A splash screen counts only if no other window follows it.

        ``pids`` returns the processes of the program: a launcher may end and leave its work to another process.
        ``heed`` raises if the wait has become pointless. Raises `DesktopFailed` if the program ends or ``timeout_s``
        passes without a window. The time in which the program waits for a CPU does not count.
        """
        started = StartTime(pids)
        inside = command_in_terminal(self.command)
        # A terminal shows its window for a moment before it finds that the command inside is missing.
        doubted_s = min(timeout_s, DOUBTED_S) if inside and self._is_missing(inside) else 0.0
        splash_s = min(SPLASH_S, SPLASH_SHARE * timeout_s)
        while not self._shows_window(is_splash_enough=started.seconds >= splash_s) or started.seconds < doubted_s:
            heed()
            status = self.process.poll()
            if status or (status == 0 and not pids()):
                words = processes.last_words(self._log)
                if self._closed and words.startswith(SAYS):
                    raise DesktopFailed(failure_reason(words))
                if status == 0 and inside:
                    raise DesktopFailed(self._without_window(f"ended without a window: {self._fate_of(inside)}", None))
                how = f"with status {status}" if status > 0 else f"by signal {-status}" if status else "at once"
                said = f"; its last words: {words}" if words else ""
                raise DesktopFailed(self._without_window(f"ended {how} without a window{said}{self._hint()}", status))
            if started.seconds >= timeout_s:
                said = "start it by hand to see why, or allow more time."
                said = f"showed no window within {timeout_s:g} s: {said}{self._hint()}"
                raise DesktopFailed(self._without_window(said, None))
            interrupt.sleep(0.01)

    def _shows_window(self, *, is_splash_enough: bool) -> bool:
        """Return whether a new window is on the screen, other than a splash screen unless that is enough."""
        new = set(windows.shown_windows(self._link)) - self._before
        return any(is_splash_enough or not windows.is_splash(self._link, each) for each in new)

    def _fate_of(self, inside: Sequence[str]) -> str:
        """Return why a terminal has closed. Its own log does not contain the messages of the command inside it."""
        if self._is_missing(inside):
            return f"its command {inside[0]!r} was not found: install it, or give its full path."
        return f"its command {inside[0]!r} has ended; run it by hand to see its messages."

    def _is_missing(self, inside: Sequence[str]) -> bool:
        return shutil.which(inside[0], path=self._path) is None

    def _without_window(self, output: str, status: int | None) -> str:
        """Return an error message that begins with the program's name and ends with the advice of ``hint``."""
        what_to_do = self._what_to_do(status)
        end = f"{'' if output.endswith(('.', ')')) else '.'} {what_to_do}" if what_to_do else ""
        return f"The program {self.command[0]!r} {output}{end}"

    @property
    def ended(self) -> bool:
        """Return whether the program's process has ended."""
        return self.process.poll() is not None

    def last_words(self) -> str:
        """Return the last line of the program's log that is not blank, or an empty string."""
        return processes.last_words(self._log)

    def _hint(self) -> str:
        """Return a note that names variables which the program did not get, or an empty string."""
        if not self._kept_back:
            return ""
        names = ", ".join(self._kept_back[:MOST_NAMED]) + (", …" if len(self._kept_back) > MOST_NAMED else "")
        return (
            f" (It did not get {names}, because these variables may be private. List those that it needs in "
            "HOLO_PROGRAM_ENV.)"
        )


@contextmanager
def _pipe_with(feed: bytes) -> Iterator[int]:
    """Yield a descriptor from which a program can read ``feed``.

    All of ``feed`` is in the pipe at once, and reading it removes it. Yields ``DEVNULL`` for an empty ``feed``.
    """
    if not feed:
        yield subprocess.DEVNULL
        return
    reads, writes = os.pipe()
    try:
        with open(writes, "wb") as pipe:  # noqa: PTH123
            pipe.write(feed)
        yield reads
    finally:
        os.close(reads)
