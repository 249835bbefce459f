"""Runs the real `holo-tasks` executable as its users do: a process of its own, judged by what it leaves."""

from __future__ import annotations

import contextvars
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from unittest import mock

from tests.support import warm
from tests.support.started import read_before

EXECUTABLE = Path(sys.executable).with_name("holo-tasks")
KEYS = ("status", "answer", "steps", "cost_usd", "trace", "flow_run_id")
REPLAYED = ("layer", "model_calls", "healed")
"""What the object tells beside these of a run that was given a playbook."""
PATIENCE_S = 600.0


@dataclass(frozen=True)
class Ended:
    """What a command left: its exit code and what it wrote."""

    code: int
    stdout: str
    stderr: str

    @property
    def told(self) -> dict[str, Any]:
        """The object of ``--json``, which must be all of stdout and have exactly its keys."""
        (line,) = self.stdout.splitlines()
        found: dict[str, Any] = json.loads(line)
        assert tuple(found) in (KEYS, (*KEYS, *REPLAYED))
        return found

    @property
    def said(self) -> list[str]:
        """The lines on stderr, but for what a command waited for on a busy machine."""
        return [line for line in self.stderr.splitlines() if not line.startswith("holo-tasks: waiting for ")]

    @property
    def complaint(self) -> str:
        """The line on stderr that says what went wrong; after it there may be a summary, and nothing else."""
        lines = self.said
        assert "Traceback" not in self.stderr
        assert all(line.startswith("holo-tasks: ") for line in lines), self.stderr
        assert len(lines) == 1 or (len(lines) == 2 and "; trace: " in lines[1]), self.stderr
        return lines[0]


class CommandLine:
    """Starts the command with an environment of its own: nothing of the machine's settings leaks in.

    What it loads is loaded before (`warm`), unless it is to be ``real``: started as its users start it.
    """

    def __init__(self, home: Path, prefect_url: str | None) -> None:
        self.home, self.real = home, False
        names = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", read_before.FOLDER, "PYTHONPATH")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        self.env = {
            **kept,
            "HOLO_HOME": str(home / "holo"),
            "HOLO_PATIENCE": "0",
            # One database for all: to make a new one takes a server some twenty seconds.
            "PREFECT_HOME": os.environ["PREFECT_HOME"],
            **(_shared(prefect_url) if prefect_url else {}),
        }

    def start(self, *arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Running:
        """Start it; names set to None in ``env`` are left out, ``by`` is a command that starts it in its turn.

        ``real`` has this one started as its users start it.
        """
        by: Sequence[str] = options.pop("by", ())
        changed = {**self.env, **(env or {})}
        real = options.pop("real", self.real) or by
        process = (subprocess.Popen if real else warm.Popen)(
            [*by, str(EXECUTABLE), *arguments],
            env={name: value for name, value in changed.items() if value is not None},
            stdin=subprocess.DEVNULL,
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            text=True,
            encoding="utf-8",
            **{"cwd": self.home, **options},
        )
        return Running(process)

    def __call__(self, *arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Ended:
        """Run it to its end."""
        return self.start(*arguments, env=env, **options).end()


def _shared(prefect_url: str) -> dict[str, str]:
    return {"PREFECT_API_URL": prefect_url, "PREFECT_API_AUTH_STRING": os.environ["PREFECT_API_AUTH_STRING"]}


class InProcess(CommandLine):
    """Does in this process, with its environment alone, what needs nothing of Prefect; with options, as ever."""

    def __call__(self, *arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Ended:
        if options:
            return super().__call__(*arguments, env=env, **options)
        kept = {name: value for name, value in {**self.env, **(env or {})}.items() if value is not None}
        out, err, had = io.StringIO(), io.StringIO(), "prefect" in sys.modules
        alone = mock.patch.dict(os.environ, kept, clear=True)
        with alone, chdir(self.home), redirect_stdout(out), redirect_stderr(err):
            code = contextvars.copy_context().run(_code_of, arguments)
        assert had or "prefect" not in sys.modules, "it would read its settings, which are those of this command"
        return Ended(code, out.getvalue(), err.getvalue())


def _code_of(arguments: Sequence[str]) -> int:
    from holo_tasks.cli.commands import exit_code

    try:
        return exit_code(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)


class Running:
    """A command that has not ended yet."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def until(self, true: Callable[[], Any]) -> None:
        """Wait for something that it does; that it ends before is a failure, which tells of the end."""
        until(lambda: true() or self.process.poll() is not None)
        assert true(), self.end()

    def signal(self, number: signal.Signals) -> Ended:
        """Send it a signal, then wait for its end."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> Ended:
        """Wait for its end; a command that does not end is a failure."""
        try:
            stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return Ended(self.process.returncode, stdout or "", stderr or "")


@contextmanager
def takers() -> Iterator[tuple[IO[str], IO[str]]]:
    """Who takes nothing of what is said: a pipe whose reader has gone, and a full disk."""
    end, pipe = os.pipe()
    os.close(end)
    with os.fdopen(pipe, "w") as unread, Path("/dev/full").open("w") as full:
        yield unread, full


def until(true: Callable[[], Any]) -> Any:
    """Wait for something another process does in its own time; return what it came to."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < deadline, "waited for in vain"
        time.sleep(0.02)
    return found


def related(mark: str) -> list[str]:
    """List the living processes that have some text in their environment or command line, by command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            words = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
        except OSError:
            continue
        if state not in "ZX" and mark.encode() in words:
            found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
