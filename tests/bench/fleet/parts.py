"""Parts of a fleet, all real: Postgres, Redis, Prefect servers behind a front, S3 and a model."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from s3_server import S3Server

from tests.support.postgres import DEBIANS, Postgres

HERE = Path(__file__).parent
PREFECT = str(Path(sys.executable).with_name("prefect"))
PATIENCE_S = 180.0
REDIS = "redis-server"


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def wait_until(true: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
    """Wait until a condition is true, and return its value; exit after the time limit."""
    until_s = time.monotonic() + patience_s
    while not (found := true()):
        if time.monotonic() > until_s:
            raise SystemExit(f"{what} took longer than {patience_s:.0f} s.")
        time.sleep(0.1)
    return found


class Redis:
    """A Redis server with persistent data, which can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        if shutil.which(REDIS) is None:
            raise SystemExit(f"Several Prefect servers need Redis: apt-get install {REDIS}")
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._process = folder, None
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self._folder, "appendonly": "yes", "save": ""}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([REDIS, *words], stdout=log, stderr=log, start_new_session=True)
        wait_until(lambda: _answers(self.port), "The start of Redis")

    def crash(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


@dataclass
class Server:
    """One of the Prefect servers."""

    port: int
    env: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(self.port), "--no-ui"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--no-services"], env=dict(self.env), stdout=log, stderr=log, start_new_session=True
            )

    def wait(self) -> None:
        wait_until(lambda: self._up(), f"The start of a Prefect server (see {self.log})")

    def crash(self) -> None:
        """Kill it at once, as a machine failure does."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _up(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise SystemExit(f"A Prefect server has ended: {self.log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=2) as said:
                return bool(said.status == 200)
        except OSError:
            return False


@dataclass
class Parts:
    """All parts; ``env`` has the variables for flows and workers. With ``api`` a Prefect server exists already."""

    folder: Path
    model_s: float
    api: str = ""
    servers: int = 2
    env: dict[str, str] = field(default_factory=dict)
    redis: Redis | None = None
    prefect: list[Server] = field(default_factory=list)
    model_url: str = ""
    began_s: float = field(default_factory=time.monotonic)
    _others: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        found = sorted(DEBIANS.glob("*/bin/initdb"))
        if not found:
            raise SystemExit("Prefect needs an extension that only Debian's Postgres has: apt-get install postgresql")
        self.postgres = Postgres(found[-1].parent)
        try:
            # Each of two servers keeps some twenty connections, a flow process a few, and a desktop's work one.
            self.postgres.run("ALTER SYSTEM SET max_connections = 400")
            self.postgres.crash()
            self.postgres.start()
            self.s3 = S3Server(self.folder / "s3")
            self.s3.start()
            self._start_model()
            self._start_prefect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.prefect:
            if server.process is not None and server.process.poll() is None:
                server.crash()
        for process in self._others:
            process.kill()
            process.wait()
        if self.redis is not None:
            self.redis.crash()
        if hasattr(self, "s3"):
            self.s3.stop()
        self.postgres.stop()

    def _start_model(self) -> None:
        command = [sys.executable, str(HERE / "model.py"), str(self.model_s)]
        self.model_url = self._first_line(command)

    def _start_prefect(self) -> None:
        # Results of items go to a separate database, as docs/how-to/postgres.md recommends.
        self.env = {"HOLO_DATABASE_URL": self.postgres.new_database(), "PREFECT_LOGGING_LEVEL": "WARNING"}
        if self.api:
            self.env |= {"PREFECT_API_URL": self.api}
            return
        self.redis = Redis(self.folder / "redis")
        url = self.postgres.new_database().replace("postgresql://", "postgresql+asyncpg://")
        login = f"holo:{secrets.token_urlsafe(16)}"
        settings = server_settings(url, self.redis.port) | {"PREFECT_SERVER_API_AUTH_STRING": login}
        env = {**os.environ, **settings}
        subprocess.run([PREFECT, "server", "database", "upgrade", "-y"], env=env, check=True, stdout=subprocess.DEVNULL)
        for number in range(self.servers):
            self.prefect.append(Server(free_port(), env, self.folder / f"server-{number + 1}.log"))
            self.prefect[-1].start()
            if not number:  # it registers the block types: two servers doing so at once conflict
                self.prefect[0].wait()
        with (self.folder / "services.log").open("ab") as log:
            services = [PREFECT, "server", "services", "start"]
            self._others.append(subprocess.Popen(services, env=env, stdout=log, stderr=log, start_new_session=True))
        front = free_port()
        self._first_line([sys.executable, str(HERE / "front.py"), str(front), *(str(one.port) for one in self.prefect)])
        for server in self.prefect:
            server.wait()
        self.env |= {"PREFECT_API_URL": f"http://127.0.0.1:{front}/api", "PREFECT_API_AUTH_STRING": login}

    def _first_line(self, command: list[str]) -> str:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        self._others.append(process)
        assert process.stdout is not None
        line = process.stdout.readline().decode().strip()
        if not line:
            raise SystemExit(f"{command[1]} did not start.")
        return line

    def kinds(self) -> dict[str, list[int]]:
        """Return the processes of each part, without their children."""
        servers = [server.process.pid for server in self.prefect if server.process is not None]
        services = [one.pid for one in self._others[1:2]] if self.prefect else []
        return {
            "Prefect's servers": [*servers, *services],
            "Postgres": [self.postgres.pid],
            "Redis": [] if self.redis is None else [self.redis.pid],
            "model": [self._others[0].pid],
        }


def server_settings(database: str, redis_port: int) -> dict[str, str]:
    """Return the settings of one of several Prefect servers, as in docs/how-to/fleet.md."""
    return {
        "PREFECT_API_DATABASE_CONNECTION_URL": database,
        "PREFECT_API_DATABASE_MIGRATE_ON_START": "false",
        "PREFECT_MESSAGING_BROKER": "prefect_redis.messaging",
        "PREFECT_MESSAGING_CACHE": "prefect_redis.messaging",
        "PREFECT_SERVER_EVENTS_CAUSAL_ORDERING": "prefect_redis.ordering",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect_redis.lease_storage",
        "PREFECT_SERVER_DOCKET_URL": f"redis://127.0.0.1:{redis_port}/1",
        "PREFECT_REDIS_MESSAGING_HOST": "127.0.0.1",
        "PREFECT_REDIS_MESSAGING_PORT": str(redis_port),
        "PREFECT_REDIS_MESSAGING_DB": "0",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "0",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        "DO_NOT_TRACK": "1",
    }


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
