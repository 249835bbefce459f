"""Start, find and end the processes of a desktop, so that none outlives it (Linux).

The functions read /proc themselves and do not use psutil, because they are called many times a second. psutil takes
twice as long to find descendants and sixty times as long to find ancestors. A name that a process gives itself has no
influence on them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from holo_tasks.machine.proc import living, process, stat_of

# <linux/prctl.h>
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# Environment variable of every process of a desktop. It finds processes that left their group and session when the
# desktop ends.
MARK = "HOLO_DESKTOP"
LOOK_S, NAP_S = 0.1, 0.005
"""Seconds between two searches for further processes to end; and seconds between them where a process cannot be waited
for."""
_RUN_UNLESS_ORPHANED = '[ "$PPID" = "$0" ] && exec "$@"'
"""Shell command that gets our process id and a program. It runs the program unless our process ended before
`setpriv` set the signal."""


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants (a subreaper), so that it can end them."""
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(signum: int) -> Callable[[], None]:
    """Return a ``preexec_fn`` for a new process that makes the kernel send it ``signum`` when this process ends.

    The kernel sends the signal when the *thread* that started the process ends. Start processes from the main thread
    only.
    """
    libc, parent = _libc(), os.getpid()

    def tie() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
        if os.getppid() != parent:  # we ended before the line above
            os._exit(1)

    return tie


def start_tied(signum: signal.Signals, command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start a program that gets a signal when this process ends, as with `end_with_parent`.

    ``how`` holds arguments for `subprocess.Popen`. Two small programs, setpriv and sh, set the signal where setpriv is
    installed. They take less time than `end_with_parent`, for which the memory of this process has to be copied at the
    fork. Raises `FileNotFoundError` if the program is not found.
    """
    path = how.get("env", os.environ).get("PATH", os.defpath)
    found, setpriv = shutil.which(command[0], path=path), shutil.which("setpriv")
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    if setpriv is None:
        return subprocess.Popen(command, **how, preexec_fn=end_with_parent(signum))
    name = signum.name.removeprefix("SIG")
    tie = [setpriv, "--pdeathsig", name, "/bin/sh", "-c", _RUN_UNLESS_ORPHANED, str(os.getpid())]
    return subprocess.Popen([*tie, found, *command[1:]], **how)


def descendants(pid: int) -> list[int]:
    """List the living descendants of process ``pid``, parents first."""
    children: dict[int, list[int]] = {}
    for each, fields in living():
        children.setdefault(int(fields[1]), []).append(each)
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def ancestry(pid: int) -> list[int]:
    """List a living process and its ancestors by parent process id, the process itself first."""
    found: list[int] = []
    while pid > 1 and pid not in found:
        try:
            parent = int(stat_of(process(pid))[1])
        except (OSError, ValueError, IndexError):
            return found
        found.append(pid)
        pid = parent
    return found


def processes_of_desktop(mark: str, session: int) -> list[int]:
    """List the living processes with a desktop's mark in their environment, or with its session id."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid, fields in living():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and (
                int(fields[3]) == session or wanted in (process(pid) / "environ").read_bytes().split(b"\0")
            ):
                found.append(pid)
    return found


def end(find: Callable[[], Iterable[int]], *, grace_s: float) -> None:
    """End processes with SIGTERM and after ``grace_s`` seconds with SIGKILL, until ``find`` returns none.

    Gives up five seconds after the first SIGKILL.
    """
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    while pids := list(find()):
        overdue = time.monotonic() - deadline
        if overdue >= 5:
            return  # they hang in the kernel, where no signal ends them
        for pid in pids:
            if overdue >= 0 or pid not in asked:
                asked.add(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if overdue >= 0 else signal.SIGTERM)
        _await_ends(pids, LOOK_S if overdue >= 0 else min(LOOK_S, -overdue))


def _await_ends(pids: Iterable[int], at_most_s: float) -> None:
    """Wait until all of these processes have ended, at most ``at_most_s`` seconds.

    It uses process file descriptors, because /proc cannot be waited on.
    """
    until = time.monotonic() + at_most_s
    ends = select.poll()
    with contextlib.ExitStack() as opened:
        left = 0
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            except OSError:  # no free descriptor or no permission: the caller must still go on to end processes
                time.sleep(min(NAP_S, at_most_s))
                return
            opened.callback(os.close, descriptor)
            ends.register(descriptor, select.POLLIN)
            left += 1
        while left and (wait_s := until - time.monotonic()) > 0:
            for descriptor, _ in ends.poll(wait_s * 1000):
                ends.unregister(descriptor)
                left -= 1


def reap() -> None:
    """Collect the exit statuses of all ended children, so that adopted orphans do not stay as zombies."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def remove(folder: Path) -> None:
    """Delete a desktop's private folder if it exists."""
    shutil.rmtree(folder, ignore_errors=True)


def last_words(log: Path) -> str:
    """Return the last line of a log that is not blank, at most 300 characters; empty without such a line."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-30:]
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:300] if said else ""


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
