"""Starts processes that have loaded already what they load: `warm_process` holds it, and forks them.

To load Prefect takes a command a second and a half of a core, and its server another one; what is of a screen takes a
desktop's process most of a quarter; and a test run starts hundreds of them. What is started this way has beside it
what forks others in turn: a test run's workers have, so one process loads for all of them, and a command or script has
for its desktops and Prefect server. What other processes start loads it all itself. What is started this way is a child
of the process that asks, as `subprocess.Popen` would have made it: it is waited for, gets signals, and is shown by
`/proc` in the same way. Where the kernel does not permit that, all is started as ever.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("warm_process.py")
ROOT = PROGRAM.parent.parent.parent
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)
SAME = ("LANG", "LC_ALL", "LC_CTYPE")
"""What Python reads of an environment before any of its own code runs, besides what begins with PYTHON."""
# Where what is started finds its modules it is told, and so is what others have read before. Python reads no PYTHON.
HARMLESS = (
    "PYTHON",
    "PYTHONPATH",
    "PYTHON_HOLO_READ",
    "PYTHON_HOLO_READ_ANEW",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
)
# What kills are injected by: a host that finds these arms itself.
ARMED = ("PYTHON_HOLO_FAULT", "PYTHON_HOLO_FAULT_LOG", "PYTHON_HOLO_MUTANT")


SERVERS = ("holo_tasks.prefect_server.process", "tests.support.prefect_process")
READ_EARLY = ("PREFECT_SERVER_SERVICES_", "PREFECT_API_SERVICES_", "PREFECT_SERVER_EVENTS_", "PREFECT_TASK_SCHEDULING_")
"""How the settings begin that Prefect's server reads as it is loaded: how often its services do their work."""
READ_LATER = ("_ENABLED", "PREFECT_SERVER_EVENTS_CAUSAL_ORDERING")
"""How those of them end that it reads when it needs them."""

_turn = threading.Lock()
"""One is started at a time: whose child it becomes is a setting of this whole process."""


in_tests = False
"""Say whether this is a process of tests, which starts many; a script that uses what tests use starts a few."""


class Link:
    """Leads to a process that forks children which become this process's own.

    One whose Prefect has read its settings forks ``only`` what loads none of Prefect.
    """

    def __init__(self, link: socket.socket, only: str = "") -> None:
        self._link, self._owner, self._only = link, os.getpid(), only

    def forks(self, kind: str) -> bool:
        """Say whether it forks this kind for this process: what it forks is no child of a fork of this one."""
        return self._owner == os.getpid() and self._only in ("", kind)

    def child(self, told: dict[str, Any], descriptors: Sequence[int]) -> int:
        """Have it make a child that becomes a command and is this process's own; return its id."""
        text = json.dumps({**told, "parent": os.getpid()}).encode()
        with _turn:
            # Whoever is left by its parent becomes this process's child: here that is the command.
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._link, [len(text).to_bytes(4, "big")], descriptors)
                self._link.sendall(text)
                return int.from_bytes(self._link.recv(4), "big")
            finally:
                _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


class _Process(Link):
    """The process that has all loaded of what is named; it ends with this one."""

    def __init__(self, *named: str) -> None:
        ours, its = socket.socketpair()
        env = {
            name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE") if name in os.environ
        }
        with its:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(its.fileno()), *named],
                env={**env, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                pass_fds=(its.fileno(),),
                start_new_session=True,
            )
        super().__init__(ours)
        self.ready = ours.recv(1) == b"\n"
        atexit.register(self._end)

    def _end(self) -> None:
        self._link.close()
        self._process.wait()


beside: Link | None = None
"""What forks others for this process, where this is itself one that was forked."""


@functools.cache
def _process(*named: str) -> _Process | None:
    made = _Process(*named)
    return made if made.ready else None


def forker(*named: str) -> Link | None:
    """Return what forks processes which have loaded what is named, or what commands load, if the kernel lets it."""
    return beside or _process(*named)


class Popen(subprocess.Popen[Any]):
    """A command of `holo-tasks` that has loaded what it loads; takes what a command's environment and streams are."""

    _named: tuple[str, ...] = ()
    """What the process that forks it has loaded, unless that is what commands load."""
    _as = "command"
    _tied = 0
    """The signal that the kernel sends it when this process ends, if what is run before it asks for that."""

    def _execute_child(self, args: Any, *positional: Any) -> None:
        names = ("executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo", "creationflags",
                 "shell", "in_read", "in_write", "out_read", "out_write", "err_read", "err_write", "restore_signals",
                 "gid", "gids", "uid", "umask", "session", "group")  # fmt: skip
        given = dict(zip(names, positional, strict=True))
        env = os.environ if given["env"] is None else given["env"]
        odd = given["shell"] or (given["preexec_fn"] and not self._tied)
        process = forker(*self._named) if self._takes(args, env) and not odd else None
        if process is None or not process.forks(self._as):
            super()._execute_child(args, *positional)  # type: ignore[misc]
            return
        pipes = tuple(given[name] for name in names[9:15])
        streams = [number if pipe == -1 else pipe for number, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        told = {"as": self._as, "arguments": self._arguments(args), "env": dict(env)}
        told |= {"cwd": os.fspath(given["cwd"] or Path.cwd())}
        passed = [*map(int, given["pass_fds"])]
        told |= {"tied": int(self._tied), "passed": passed, "umask": given["umask"], "session": given["session"]}
        try:
            self.pid = process.child(told, [*streams, *passed])
        finally:
            self._child_created = True
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _takes(self, args: Any, env: Any) -> bool:
        """Say whether this can be started so."""
        return _alike(env, HARMLESS)

    def _arguments(self, args: Any) -> list[str]:
        return list(map(str, args))


class HostPopen(Popen):
    """The process of a desktop that has loaded what it loads; anything else is started as ever."""

    _named, _as = ("holo_tasks.desktop.session.host",), "host"

    def _takes(self, args: Any, env: Any) -> bool:
        return list(args)[:4] == [sys.executable, "-P", "-m", *self._named] and _alike(env, (*HARMLESS, *ARMED))

    def _arguments(self, args: Any) -> list[str]:
        return list(map(str, args))[1:]


class ScriptPopen(Popen):
    """A script, module or line of Python that has loaded what commands load; with other options Python starts as ever.

    It finds its modules where any script does, and what it has not imported itself does not count as loaded.
    """

    _as = "script"

    def _takes(self, args: Any, env: Any) -> bool:
        python, what = map(str, list(args)[:2])
        return (
            in_tests
            and python == sys.executable
            and (what in ("-c", "-m") or what.endswith(".py"))
            and _alike(env, HARMLESS)
        )

    def _arguments(self, args: Any) -> list[str]:
        return list(map(str, args))[1:]


class ServerPopen(ScriptPopen):
    """A temporary Prefect server that has loaded what it loads, and ends with the process that has started it."""

    _tied = signal.SIGTERM

    def _takes(self, args: Any, env: Any) -> bool:
        python, *how, module = list(args)[:4]
        # How often each of them works, Prefect's services read as they are loaded.
        early = any(name.startswith(READ_EARLY) and not name.endswith(READ_LATER) for name in env)
        return (
            [python, *how] == [sys.executable, "-P", "-m"] and module in SERVERS and _alike(env, HARMLESS) and not early
        )


class RunPopen(ScriptPopen):
    """A run of an MCP server that has loaded what it loads."""

    def _takes(self, args: Any, env: Any) -> bool:
        return list(args)[:4] == [sys.executable, "-P", "-m", "holo_tasks.cli.mcp.child"] and _alike(env, HARMLESS)


class WorkerPopen(ScriptPopen):
    """A worker of pytest-xdist that has loaded what tests load, and has beside it what forks all that tests start."""

    _as = "worker"

    def _takes(self, args: Any, env: Any) -> bool:
        return list(args)[:3] == [sys.executable, "-u", "-c"] and _alike(env, HARMLESS)


def run_script(
    args: Sequence[object], *, timeout: float | None = None, by: type[Popen] = ScriptPopen, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end, as `subprocess.run` does with ``text`` and unless told otherwise with its output."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with by(list(map(str, args)), text=True, **{**streams, **options}) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(args, process.returncode, stdout, stderr)


def run_prefect(words: Sequence[str], env: Mapping[str, str]) -> None:
    """Run a command of Prefect's own to its end, which has to be a good one."""
    line = "from prefect.cli import app; app()"
    done = run_script([sys.executable, "-c", line, "--no-prompt", *words], env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


class Starting:
    """In the place of `subprocess` where something is started that can be forked."""

    def __init__(self, popen: type[Popen]) -> None:
        self.Popen = popen

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


def _alike(env: Any, harmless: Sequence[str] = ()) -> bool:
    """Say whether a process with this environment would begin as the one that has all loaded did."""
    same = all(env.get(name) == os.environ.get(name) for name in SAME)
    return same and not any(name.startswith("PYTHON") and name not in harmless for name in env)
