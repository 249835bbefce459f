"""A temporary Prefect server for a single run, started before anything heavy is imported.

Prefect starts one by itself when no server is configured, but only once a flow begins; started first, its
several seconds pass while the desktop comes up and the model client is loaded.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import urlsplit

from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.this_machine import switched_on
from holo_tasks.desktop.environment import needed
from holo_tasks.desktop.processes import tied
from holo_tasks.machine.patience import names_nobody
from holo_tasks.machine.private import make_private, open_private, private_file
from holo_tasks.models.address import without_login
from holo_tasks.prefect_server.database import prepare

PATIENCE_S = 300.0
"""A first start makes a database: seen to take over two minutes on a busy machine. One that ended is seen at once."""
OPEN = (
    "answers without a login: whoever reaches it, also a page in a browser of this machine, can say yes for a person, "
    "stop runs and read the secrets of all blocks. Start the server with PREFECT_SERVER_API_AUTH_STRING, and set "
    "PREFECT_API_AUTH_STRING to the same where flows run"
)
BUSY = frozenset({408, 429, 500, 502, 503, 504})
"""How a server answers that has too much to do, or that is not up yet behind a proxy."""
CLOUD = "prefect.cloud"
"""Prefect Cloud has no health page below a workspace."""
LEAN = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
"""As Prefect's own temporary server: no pages, no background services."""
NO_BLOCKS = {
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "0",
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "0",
}
"""Not every library of blocks is loaded, to write each kind of block into the database, which takes seconds."""
QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "0", "DO_NOT_TRACK": "1"}
SERVER_DATABASE = ("PREFECT_SERVER_DATABASE", "PREFECT_API_DATABASE")
"""How the names of settings begin that say where a server keeps its database."""
ITS_OWN = ("PREFECT_", "PG", "SQLITE_")
"""How the names of variables begin that a server reads itself, or what it keeps its database with."""


def configured_api_url(environ: Mapping[str, str]) -> str | None:
    """Return the Prefect API this machine is set up for, without importing Prefect; None if there is none."""
    return configured(environ, "PREFECT_API_URL")


def configured(environ: Mapping[str, str], *names: str) -> str | None:
    """Return the first of some Prefect settings that the environment or the active profile holds."""
    if found := next(filter(None, map(environ.get, names)), None):
        return found
    home = Path(environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    try:
        document = tomllib.loads((home / "profiles.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    name = environ.get("PREFECT_PROFILE") or document.get("active")
    profile = document.get("profiles", {}).get(name, {})
    found = next(filter(None, map(profile.get, names)), None) if isinstance(profile, dict) else None
    return found if isinstance(found, str) else None


def require_server(url: str, timeout_s: float = 5.0) -> None:
    """Raise `Unavailable` if no Prefect server answers at a configured URL, `InvalidUsage` if something else does."""
    state = state_of(url, timeout_s)
    if state != "up":
        raise (Unavailable if state == "away" else InvalidUsage)(
            f"No Prefect API answers at {without_login(url)}; start its server, correct PREFECT_API_URL (it ends in "
            "/api), or unset it to use a temporary one."
        )


class _StayThere(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: what answers elsewhere is not the API that was named."""

    def redirect_request(self, *_: object) -> None:
        return None


def is_up(url: str, timeout_s: float = 1.0) -> bool:
    """Say whether a Prefect API answers; one that wants a login counts."""
    return state_of(url, timeout_s) == "up"


def state_of(url: str, timeout_s: float = 1.0) -> Literal["up", "away", "other"]:
    """Say whether a Prefect API answers, nobody does, or something else; a server that is too busy is away."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:  # or it raises ValueError
            return "other"
        with _opened(url, "health", timeout_s) as answer:
            # Prefect's pages answer at any address that is not the API's.
            said: bytes = answer.read(16)
            return "up" if said.strip() == b"true" else "other"
    except urllib.error.HTTPError as error:
        up = error.code in (401, 403) or (error.code == 404 and CLOUD in url)
        return "up" if up else "away" if error.code in BUSY else "other"
    except OSError as error:
        # What has no such error behind it is said of the URL itself.
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        wrong = not isinstance(cause, OSError) or isinstance(cause, ssl.SSLCertVerificationError) or names_nobody(cause)
        return "other" if wrong else "away"
    except (ValueError, http.client.HTTPException):
        return "other"


def is_open(url: str, timeout_s: float = 1.0) -> bool:
    """Say whether a Prefect API answers to anybody, without a login; what cannot be asked does not."""
    try:
        with _opened(url, "admin/version", timeout_s) as told:
            return bool(told.status == 200 and told.read(1) == b'"')
    except (OSError, ValueError, http.client.HTTPException):  # a refusal is an OSError, too
        return False


def _opened(url: str, page: str, timeout_s: float) -> Any:
    parts = urlsplit(url)
    # A login in it, which Prefect's client sends, would be taken for a part of the host's name here.
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
    return urllib.request.build_opener(_StayThere).open(f"{bare}/{page}", timeout=timeout_s)


def reach_directly(environ: MutableMapping[str, str]) -> None:
    """Keep requests to this machine away from a proxy, which would look for them on its own."""
    without = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    environ["no_proxy"] = environ["NO_PROXY"] = f"{without},127.0.0.1,localhost,::1".lstrip(",")


class TemporaryServer:
    """A Prefect API on a free loopback port, over the usual Prefect database; it ends with this process.

    Who reaches a Prefect API reads the secrets of all blocks, says yes in a person's place and stops runs, and every
    page in a browser of this machine reaches a loopback port. So it has a ``login``, a new one each time unless one is
    given, which only those know that `enter` tells. ``ui`` serves Prefect's pages too, which ask a person for it, and
    runs its background services. One without ``blocks`` is up sooner, and for whoever saves none: two that save the
    first of a kind at once are in each other's way there. In local-only mode the database is the file in Prefect's
    home, whatever is set.
    """

    def __init__(
        self, environ: Mapping[str, str], *, ui: bool = False, blocks: bool = True, login: str | None = None
    ) -> None:
        self.login = login or f"holo:{secrets.token_urlsafe(24)}"
        home = Path(environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
        self._ready = home / ".holo-ready"
        self._first = None if self._ready.exists() else _alone(home)
        if self._first is not None and (switched_on(environ) or not _says_where(environ)):
            prepare(home / "prefect.db")
        # Bound before the server is started: nobody else can answer in its place.
        with socket.socket() as at, _readable(self.login) as told:
            at.bind(("127.0.0.1", 0))
            port = at.getsockname()[1]
            self.url = f"http://127.0.0.1:{port}/api"
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "holo_tasks.prefect_server.process", str(at.fileno())],
                env={
                    **_kept(environ, home),
                    **(_full(self.url, port) if ui else LEAN),
                    **({} if blocks else NO_BLOCKS),
                    **QUIET,
                },
                stdin=told,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(at.fileno(),),
                preexec_fn=tied(signal.SIGTERM),
                # Ctrl+C is for this process to answer; the server is still needed to close the run
                start_new_session=True,
            )

    def enter(self, environ: MutableMapping[str, str]) -> None:
        """Have Prefect speak to this server, which it does if it is imported, or started, after this."""
        environ["PREFECT_API_URL"], environ["PREFECT_API_AUTH_STRING"] = self.url, self.login

    def wait(self) -> str:
        """Return the API's URL once it answers."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise InvalidUsage(
                    "A temporary Prefect server could not start; run `prefect server start` to see why, "
                    "or set PREFECT_API_URL to a running one."
                )
            if is_up(self.url):
                self._let_others()
                return self.url
            time.sleep(0.05)
        raise InvalidUsage("A temporary Prefect server did not come up; set PREFECT_API_URL to a running one.")

    def _let_others(self) -> None:
        if self._first is not None:
            private_file(self._ready)
            self._first.close()
            self._first = None

    def stop(self) -> None:
        """End the server."""
        if self._first is not None:
            self._first.close()
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _kept(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return what a server gets of an environment."""
    kept = needed(environ) | {name: text for name, text in environ.items() if name.startswith(ITS_OWN)}
    # Other processes can read what it is started with.
    for name in ("PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"):
        kept.pop(name, None)
    own = {SERVER_DATABASE[0] + "_CONNECTION_URL": _file_url(home.absolute() / "prefect.db")}
    if switched_on(environ):
        kept = {name: value for name, value in kept.items() if not name.startswith(SERVER_DATABASE)} | own
    elif _odd(home) and not _says_where(environ):
        kept |= own  # Prefect would take the folder's name for a part of the URL
    source = str(Path(__file__).parents[2])
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, [source, kept.get("PYTHONPATH")]))}


def _odd(path: Path) -> bool:
    """Say whether a path cannot simply be written into a URL."""
    return any(character in str(path) for character in "?#%")


def _says_where(environ: Mapping[str, str]) -> bool:
    """Say whether somebody has set where Prefect keeps its database."""
    names = [f"{begin}_{name}" for begin in SERVER_DATABASE for name in ("CONNECTION_URL", "DRIVER", "NAME")]
    return any(name.startswith(SERVER_DATABASE) for name in environ) or configured(environ, *names) is not None


def _file_url(path: Path) -> str:
    """Write the path of a SQLite file as SQLAlchemy reads it."""
    if not _odd(path):
        return f"sqlite+aiosqlite:///{path}"
    from sqlalchemy import URL  # takes a while to load

    # One of its versions decodes a path and another does not; SQLite's own form of a path is safe in both.
    made = URL.create("sqlite+aiosqlite", database=path.as_uri(), query={"uri": "true"})
    return made.render_as_string(hide_password=False)


def _full(url: str, port: int) -> dict[str, str]:
    # The pages look for the API on port 4200 unless they are told.
    return {"PREFECT_SERVER_API_PORT": str(port), "PREFECT_SERVER_UI_API_URL": url}


@contextmanager
def _readable(line: str) -> Iterator[int]:
    """Give a descriptor from which a line can be read."""
    reads, writes = os.pipe()
    try:
        os.write(writes, f"{line}\n".encode())
    finally:
        os.close(writes)
    try:
        yield reads
    finally:
        os.close(reads)


def _alone(home: Path) -> IO[str]:
    """Wait for the first start of a Prefect home: two servers that set up one database at once fail."""
    try:
        make_private(home)
        file = os.fdopen(open_private(home / ".holo-first-start", os.O_WRONLY | os.O_CREAT), "w")
    except OSError as error:
        raise InvalidUsage(f"Prefect's folder {home} cannot be written ({error.strerror}); set PREFECT_HOME.") from None
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > until_s:
                file.close()
                raise InvalidUsage(
                    f"Another Prefect server has been setting up {home} for {PATIENCE_S:g} s; end it, or set "
                    "PREFECT_API_URL to a running one."
                ) from None
        time.sleep(0.1)
    return file
