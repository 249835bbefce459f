"""Start processes with their modules loaded already: `warm_process` holds the modules, and forks.

Loading Prefect takes a command 1.5 s of a core, and its server another second. Screen modules take a desktop's process
nearly a quarter of a second. A test run starts hundreds of processes. Each process started this way has a forker of its
own: one process loads the modules for all workers of a test run, and a command or script forks its desktops and its
Prefect server. Other processes load everything themselves. The new process is a child of the requesting process, as
with `subprocess.Popen`: for waiting, signals and `/proc`. If the kernel does not permit this, all processes start as
usual.
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
"""Variables that Python reads before any code runs, except those that begin with PYTHON."""
# These have no effect on a forked process, or are passed to it separately. Python itself does not read PYTHON_HOLO_
# names.
HARMLESS = (
    "PYTHON",
    "PYTHONPATH",
    "PYTHON_HOLO_READ",
    "PYTHON_HOLO_READ_ANEW",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
)
# Variables that inject kills. A desktop host reads them itself.
ARMED = ("PYTHON_HOLO_FAULT", "PYTHON_HOLO_FAULT_LOG", "PYTHON_HOLO_MUTANT")


SERVERS = ("holo_tasks.prefect_server.process", "tests.support.prefect_process")
READ_EARLY = ("PREFECT_SERVER_SERVICES_", "PREFECT_API_SERVICES_", "PREFECT_SERVER_EVENTS_", "PREFECT_TASK_SCHEDULING_")
"""Name prefixes of settings that Prefect's server reads at import: the intervals of its services."""
READ_LATER = ("_ENABLED", "PREFECT_SERVER_EVENTS_CAUSAL_ORDERING")
"""Name suffixes of those settings that it reads later."""

_turn = threading.Lock()
"""One process at a time: the adopting parent is a setting of this whole process."""


in_tests = False
"""Whether this is a test process, which starts many others. A script that uses these helpers starts few."""


class Link:
    """Connection to a process that forks children, which become children of this process.

    If this process has loaded Prefect's settings, the link forks only the kind ``only``, which does not load Prefect.
    """

    def __init__(self, link: socket.socket, only: str = "") -> None:
        self._link, self._owner, self._only = link, os.getpid(), only

    def forks(self, kind: str) -> bool:
        """Return whether the link forks this kind for this process. It cannot for a fork of this process."""
        return self._owner == os.getpid() and self._only in ("", kind)

    def child(self, told: dict[str, Any], descriptors: Sequence[int]) -> int:
        """Fork a child that becomes a command and a child of this process; return its id."""
        text = json.dumps({**told, "parent": os.getpid()}).encode()
        with _turn:
            # This process adopts orphaned descendants: the command loses its parent and becomes its child.
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._link, [len(text).to_bytes(4, "big")], descriptors)
                self._link.sendall(text)
                return int.from_bytes(self._link.recv(4), "big")
            finally:
                _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


class _Process(Link):
    """A process that has loaded the named modules. It ends with this process."""

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
"""The forker of this process, if this process was itself forked."""


@functools.cache
def _process(*named: str) -> _Process | None:
    made = _Process(*named)
    return made if made.ready else None


def forker(*named: str) -> Link | None:
    """Return the forker with the named modules (default: those of commands), or None if forbidden by the kernel."""
    return beside or _process(*named)


class Popen(subprocess.Popen[Any]):
    """A `holo-tasks` command that is forked with its modules loaded. Takes the environment and the streams of a
    command.
    """

    _named: tuple[str, ...] = ()
    """Modules of the forker; empty means those of commands."""
    _as = "command"
    _tied = 0
    """Signal from the kernel when this process ends, if ``preexec_fn`` requests one."""

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
        """Return whether this process can be forked."""
        return _alike(env, HARMLESS)

    def _arguments(self, args: Any) -> list[str]:
        return list(map(str, args))


class HostPopen(Popen):
    """A desktop's host process with its modules loaded. Anything else starts as usual."""

    _named, _as = ("holo_tasks.desktop.session.host",), "host"

    def _takes(self, args: Any, env: Any) -> bool:
        return list(args)[:4] == [sys.executable, "-P", "-m", *self._named] and _alike(env, (*HARMLESS, *ARMED))

    def _arguments(self, args: Any) -> list[str]:
        return list(map(str, args))[1:]


class ScriptPopen(Popen):
    """A Python script, module or ``-c`` code with the commands' modules loaded. With other options Python starts as
    usual.

    It finds modules as any script does. Modules that it has not imported itself do not count as loaded.
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
    """A temporary Prefect server with its modules loaded. It ends with its parent."""

    _tied = signal.SIGTERM

    def _takes(self, args: Any, env: Any) -> bool:
        python, *how, module = list(args)[:4]
        # Prefect's services read their intervals at import.
        early = any(name.startswith(READ_EARLY) and not name.endswith(READ_LATER) for name in env)
        return (
            [python, *how] == [sys.executable, "-P", "-m"] and module in SERVERS and _alike(env, HARMLESS) and not early
        )


class RunPopen(ScriptPopen):
    """A run of an MCP server with its modules loaded."""

    def _takes(self, args: Any, env: Any) -> bool:
        return list(args)[:4] == [sys.executable, "-P", "-m", "holo_tasks.cli.mcp.child"] and _alike(env, HARMLESS)


class WorkerPopen(ScriptPopen):
    """A worker of pytest-xdist with the tests' modules loaded, and with a forker for all processes that tests start."""

    _as = "worker"

    def _takes(self, args: Any, env: Any) -> bool:
        return list(args)[:3] == [sys.executable, "-u", "-c"] and _alike(env, HARMLESS)


def run_script(
    args: Sequence[object], *, timeout: float | None = None, by: type[Popen] = ScriptPopen, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end, as `subprocess.run` with ``text`` and, by default, captured output."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with by(list(map(str, args)), text=True, **{**streams, **options}) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(args, process.returncode, stdout, stderr)


def run_prefect(words: Sequence[str], env: Mapping[str, str]) -> None:
    """Run a Prefect command to its end; it must succeed."""
    line = "from prefect.cli import app; app()"
    done = run_script([sys.executable, "-c", line, "--no-prompt", *words], env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


class Starting:
    """Replaces the `subprocess` module in modules whose processes can be forked."""

    def __init__(self, popen: type[Popen]) -> None:
        self.Popen = popen

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


def _alike(env: Any, harmless: Sequence[str] = ()) -> bool:
    """Return whether a Python with this environment would start in the same state as the preloaded one."""
    same = all(env.get(name) == os.environ.get(name) for name in SAME)
    return same and not any(name.startswith("PYTHON") and name not in harmless for name in env)
