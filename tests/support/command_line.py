"""Run the real `holo-tasks` executable as users do: as a process, judged by its output, exit code and files."""

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
REPLAYED = ("layer", "model_calls", "healed", "done_before")
"""Additional keys of the JSON object for a run with a playbook."""
PATIENCE_S = 600.0


@dataclass(frozen=True)
class Ended:
    """Result of a command: its exit code and its output."""

    code: int
    stdout: str
    stderr: str

    @property
    def told(self) -> dict[str, Any]:
        """Return the object of ``--json``. It must be the whole of stdout and have exactly the documented keys."""
        (line,) = self.stdout.splitlines()
        found: dict[str, Any] = json.loads(line)
        assert tuple(found) in (KEYS, (*KEYS, *REPLAYED))
        return found

    @property
    def said(self) -> list[str]:
        """Return the lines on stderr, except those about waiting on a busy machine."""
        return [line for line in self.stderr.splitlines() if not line.startswith("holo-tasks: waiting for ")]

    @property
    def complaint(self) -> str:
        """Return the error line on stderr. Only a summary line may follow it."""
        lines = self.said
        assert "Traceback" not in self.stderr
        assert all(line.startswith("holo-tasks: ") for line in lines), self.stderr
        assert len(lines) == 1 or (len(lines) == 2 and "; trace: " in lines[1]), self.stderr
        return lines[0]


class CommandLine:
    """Starts the command with its own environment, without any of the machine's settings.

    Its modules are loaded in advance (`warm`), unless it is ``real``, that is, started as users start it.
    """

    def __init__(self, home: Path, prefect_url: str | None) -> None:
        self.home, self.real = home, False
        names = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", read_before.FOLDER, "PYTHONPATH")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        self.env = {
            **kept,
            "HOLO_HOME": str(home / "holo"),
            "HOLO_PATIENCE": "0",
            # One PREFECT_HOME for all: a server needs about twenty seconds to create a new database.
            "PREFECT_HOME": os.environ["PREFECT_HOME"],
            **(_shared(prefect_url) if prefect_url else {}),
        }

    def start(self, *arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Running:
        """Start the command. Variables that are None in ``env`` are removed. ``by`` is a command that starts this one.

        With ``real`` this command is started as users start it.
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
        """Run the command to its end."""
        return self.start(*arguments, env=env, **options).end()


def _shared(prefect_url: str) -> dict[str, str]:
    return {"PREFECT_API_URL": prefect_url, "PREFECT_API_AUTH_STRING": os.environ["PREFECT_API_AUTH_STRING"]}


class InProcess(CommandLine):
    """Runs commands without Prefect in this process, with their own environment. With options, starts a process."""

    def __call__(self, *arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Ended:
        if options:
            return super().__call__(*arguments, env=env, **options)
        kept = {name: value for name, value in {**self.env, **(env or {})}.items() if value is not None}
        out, err, had = io.StringIO(), io.StringIO(), "prefect" in sys.modules
        alone = mock.patch.dict(os.environ, kept, clear=True)
        with alone, chdir(self.home), redirect_stdout(out), redirect_stderr(err):
            code = contextvars.copy_context().run(_code_of, arguments)
        assert had or "prefect" not in sys.modules, "Prefect would read the settings of this command"
        return Ended(code, out.getvalue(), err.getvalue())


def _code_of(arguments: Sequence[str]) -> int:
    from holo_tasks.cli.commands import exit_code

    try:
        return exit_code(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)


class Running:
    """A command that is still running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def until(self, true: Callable[[], Any]) -> None:
        """Wait until a condition holds. Fails with the command's output if the command ends before."""
        until(lambda: true() or self.process.poll() is not None)
        assert true(), self.end()

    def signal(self, number: signal.Signals) -> Ended:
        """Send a signal, then wait for the end of the command."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> Ended:
        """Wait for the end of the command. Fails if it does not end in time."""
        try:
            stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return Ended(self.process.returncode, stdout or "", stderr or "")


@contextmanager
def takers() -> Iterator[tuple[IO[str], IO[str]]]:
    """Yield two streams that cannot be written to: a pipe whose reader has gone, and a full disk."""
    end, pipe = os.pipe()
    os.close(end)
    with os.fdopen(pipe, "w") as unread, Path("/dev/full").open("w") as full:
        yield unread, full


def until(true: Callable[[], Any]) -> Any:
    """Wait until a condition of another process holds; return its value."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < deadline, "the condition did not hold in time"
        time.sleep(0.02)
    return found


def related(mark: str) -> list[str]:
    """Return the command lines of the living processes that have a text in their environment or command line."""
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
