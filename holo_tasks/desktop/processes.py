"""Processes that never outlive the desktop they belong to (Linux).

Read from /proc and not by psutil: these questions are asked many times a second, for which psutil takes twice as long
to find descendants and sixty times as long to find ancestors; and no name that a process gives itself misleads them.
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

# Every process of a desktop carries this variable, so that those which left their group and
# session are still found when the desktop ends.
MARK = "HOLO_DESKTOP"
LOOK_S, NAP_S = 0.1, 0.005
"""How long ends of processes are waited for before it is looked whether there are others by now; and where they cannot
be waited for."""
_UNLESS_ENDED = '[ "$PPID" = "$0" ] && exec "$@"'
"""What is run with our id and a program: that, unless we ended before it was known whose end to wait for."""


def adopt_orphans() -> None:
    """Make processes whose parent ends children of this process, so that it can end them."""
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def tied(signum: int) -> Callable[[], None]:
    """Return what a new process runs before its program, to get ``signum`` when we end.

    The kernel sends it when the *thread* that started the process ends, so start processes from
    the main thread only.
    """
    libc, parent = _libc(), os.getpid()

    def tie() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
        if os.getppid() != parent:  # we ended before the line above
            os._exit(1)

    return tie


def start_tied(signum: signal.Signals, command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start a program that gets a signal when we end, as by `tied`; ``how`` is for `subprocess.Popen`.

    To run Python between fork and exec, this process's memory has to be copied, which takes longer than two small
    programs that do the same. Raises `FileNotFoundError` where the program is not found.
    """
    path = how.get("env", os.environ).get("PATH", os.defpath)
    found, setpriv = shutil.which(command[0], path=path), shutil.which("setpriv")
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    if setpriv is None:
        return subprocess.Popen(command, **how, preexec_fn=tied(signum))
    name = signum.name.removeprefix("SIG")
    tie = [setpriv, "--pdeathsig", name, "/bin/sh", "-c", _UNLESS_ENDED, str(os.getpid())]
    return subprocess.Popen([*tie, found, *command[1:]], **how)


def descendants(pid: int) -> list[int]:
    """List the living processes started by ``pid`` and theirs, parents first."""
    children: dict[int, list[int]] = {}
    for each, told in living():
        children.setdefault(int(told[1]), []).append(each)
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def ancestry(pid: int) -> list[int]:
    """List a living process, the one that started it (or took it over), and so on."""
    found: list[int] = []
    while pid > 1 and pid not in found:
        try:
            parent = int(stat_of(process(pid))[1])
        except (OSError, ValueError, IndexError):
            return found
        found.append(pid)
        pid = parent
    return found


def belonging(mark: str, session: int) -> list[int]:
    """List the living processes that carry a desktop's mark in their environment, or its session."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid, told in living():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and (
                int(told[3]) == session or wanted in (process(pid) / "environ").read_bytes().split(b"\0")
            ):
                found.append(pid)
    return found


def end(find: Callable[[], Iterable[int]], *, grace_s: float) -> None:
    """End processes politely, then without asking; return when none is found any more."""
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    while pids := list(find()):
        overdue = time.monotonic() - deadline
        if overdue >= 5:
            return  # stuck in the kernel: nothing more can be done from here
        for pid in pids:
            if overdue >= 0 or pid not in asked:
                asked.add(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if overdue >= 0 else signal.SIGTERM)
        _await_ends(pids, LOOK_S if overdue >= 0 else min(LOOK_S, -overdue))


def _await_ends(pids: Iterable[int], at_most_s: float) -> None:
    """Wait until all of these processes have ended, for a while: /proc, which tells of others, cannot be waited on."""
    until = time.monotonic() + at_most_s
    ends = select.poll()
    with contextlib.ExitStack() as opened:
        left = 0
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            except OSError:  # no descriptor is left, or this is not permitted: nothing may outlive a desktop for that
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
    """Take note of the ends of all that this process started or took over, which else nobody may ever do."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def remove(folder: Path) -> None:
    """Delete a desktop's private folder, if it is still there."""
    shutil.rmtree(folder, ignore_errors=True)


def last_words(log: Path) -> str:
    """Return the last line somebody wrote to a log that says something, or nothing."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-30:]
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:300] if said else ""


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
