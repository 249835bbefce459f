"""Start a temporary Prefect server for one run, and find out whether a configured server answers.

Prefect starts a temporary server by itself if none is configured, but only when a flow begins. `TemporaryServer` starts
earlier, so that its several seconds pass while the desktop starts and the model client is imported.
"""

from __future__ import annotations

import fcntl
import http.client
import json
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
from holo_tasks.desktop.processes import end_with_parent
from holo_tasks.desktop.programs.environment import variables_to_pass
from holo_tasks.machine.patience import is_unknown_host
from holo_tasks.machine.private import make_private, open_private, private_file
from holo_tasks.models.address import without_login
from holo_tasks.prefect_server.database import prepare

PATIENCE_S = 300.0
"""Seconds to wait for the server. Its first start creates a database, which took over two minutes on a busy machine. A
server that exits is noticed at once.
"""
OPEN = (
    "answers without a login: every client, including a web page in a browser on this machine, can approve actions, "
    "stop runs and read the secrets of all blocks. Start the server with PREFECT_SERVER_API_AUTH_STRING, and "
    "set PREFECT_API_AUTH_STRING to the same value for your flows"
)
BUSY = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP status codes of a server that is overloaded, or not up yet behind a proxy."""
CLOUD = "prefect.cloud"
"""Host of Prefect Cloud, which has no health page below a workspace."""
LEAN = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
"""Settings as in Prefect's own temporary server: no pages, no background services."""
NO_BLOCKS = {
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "0",
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "0",
}
"""Settings that skip importing all block libraries and registering their block types, which takes seconds."""
QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "0", "DO_NOT_TRACK": "1"}
SERVER_DATABASE = ("PREFECT_SERVER_DATABASE", "PREFECT_API_DATABASE")
"""Prefixes of the settings for a server's database location."""
ITS_OWN = ("PREFECT_", "PG", "SQLITE_")
"""Prefixes of the environment variables that a server and its database driver read."""


def configured_api_url(environ: Mapping[str, str]) -> str | None:
    """Return the Prefect API URL from the environment or the active profile, or ``None``. Prefect is not imported."""
    return configured(environ, "PREFECT_API_URL")


def configured(environ: Mapping[str, str], *names: str) -> str | None:
    """Return the first of some Prefect settings in the environment or the active profile, or ``None``."""
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
    """Raise `Unavailable` if the Prefect server at a URL does not answer, and `InvalidUsage` if the URL is wrong."""
    state = state_of(url, timeout_s)
    if state != "up":
        raise (Unavailable if state == "away" else InvalidUsage)(
            f"No Prefect API answers at {without_login(url)}; start its server, correct PREFECT_API_URL (it ends in "
            "/api), or unset it to use a temporary one."
        )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirect handler that follows no redirects, because another address is not the configured API."""

    def redirect_request(self, *_: object) -> None:
        return None


def is_up(url: str, timeout_s: float = 1.0) -> bool:
    """Return whether a Prefect API answers. An answer that demands a login counts."""
    return state_of(url, timeout_s) == "up"


def state_of(url: str, timeout_s: float = 1.0) -> Literal["up", "away", "other"]:
    """Return "up" if a Prefect API answers, "away" for no answer or a busy server, and "other" for anything else."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:  # or it raises ValueError
            return "other"
        with _open_page(url, "health", timeout_s) as answer:
            # Prefect's web pages answer at all paths outside the API, so check the body.
            body: bytes = answer.read(16)
            return "up" if body.strip() == b"true" else "other"
    except urllib.error.HTTPError as error:
        up = error.code in (401, 403) or (error.code == 404 and CLOUD in url)
        return "up" if up else "away" if error.code in BUSY else "other"
    except OSError as error:
        # Without an OSError as the cause, the error is about the URL itself.
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        wrong = (
            not isinstance(cause, OSError) or isinstance(cause, ssl.SSLCertVerificationError) or is_unknown_host(cause)
        )
        return "other" if wrong else "away"
    except (ValueError, http.client.HTTPException):
        return "other"


def is_open(url: str, timeout_s: float = 1.0) -> bool:
    """Return whether a Prefect API answers without a login. Returns ``False`` if it cannot be reached."""
    try:
        with _open_page(url, "admin/version", timeout_s) as health:
            return bool(health.status == 200 and health.read(1) == b'"')
    except (OSError, ValueError, http.client.HTTPException):  # an HTTP error is an OSError
        return False


def _open_page(url: str, page: str, timeout_s: float) -> Any:
    parts = urlsplit(url)
    # Remove the login, which Prefect's client would send; urllib would parse it as a part of the host name.
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
    opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=_tls_context()))
    return opener.open(urllib.request.Request(f"{bare}/{page}", headers=_client_headers()), timeout=timeout_s)


def _client_headers() -> dict[str, str]:
    """Return the headers that Prefect's client sends with every request, for example to a proxy with a login."""
    try:
        given = json.loads(configured(os.environ, "PREFECT_CLIENT_CUSTOM_HEADERS") or "{}")
    except ValueError:
        return {}  # Prefect reports it
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def _tls_context() -> ssl.SSLContext:
    """Return the checks of certificates that Prefect's client makes. Raises `OSError` if its file is missing."""
    context = ssl.create_default_context(cafile=configured(os.environ, "PREFECT_API_SSL_CERT_FILE"))
    if (configured(os.environ, "PREFECT_API_TLS_INSECURE_SKIP_VERIFY") or "").lower() in (
        "1",
        "true",
        "t",
        "yes",
        "on",
    ):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def reach_directly(environ: MutableMapping[str, str]) -> None:
    """Add this machine's addresses to no_proxy, because a proxy would connect to itself instead."""
    without = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").split(",")
    if "*" not in without:
        without += [address for address in ("127.0.0.1", "localhost", "::1") if address not in without]
    environ["no_proxy"] = environ["NO_PROXY"] = ",".join(filter(None, without))


class TemporaryServer:
    """A Prefect API on a free loopback port, with the user's Prefect database. It ends with this process.

    A Prefect API gives access to the secrets of all blocks, approvals and running flows. Every web page in a browser on
    this machine can reach a loopback port. The server therefore requires a ``login``, which is random unless it is
    given. `enter` sets it for Prefect's client.

    ``ui`` also serves Prefect's web pages, which ask for the login, and runs the background services. Without
    ``blocks`` the server starts sooner, but use that only for runs that save no blocks. Two processes that save the
    first block of a type at the same time would conflict. In local-only mode the database is the file in Prefect's home
    folder, regardless of settings.
    """

    def __init__(
        self, environ: Mapping[str, str], *, ui: bool = False, blocks: bool = True, login: str | None = None
    ) -> None:
        self.login = login or f"holo:{secrets.token_urlsafe(24)}"
        home = Path(environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
        self._ready = home / ".holo-ready"
        self._first = None if self._ready.exists() else _lock_first_start(home)
        if self._first is not None and (switched_on(environ) or not _has_configured_database(environ)):
            prepare(home / "prefect.db")
        # Bind the port before the server starts, so that no other process can answer at it.
        with socket.socket() as at, _pipe_with(self.login) as login_pipe:
            at.bind(("127.0.0.1", 0))
            port = at.getsockname()[1]
            self.url = f"http://127.0.0.1:{port}/api"
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "holo_tasks.prefect_server.process", str(at.fileno())],
                env={
                    **_server_environment(environ, home),
                    **(_ui_settings(self.url, port) if ui else LEAN),
                    **({} if blocks else NO_BLOCKS),
                    **QUIET,
                },
                stdin=login_pipe,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(at.fileno(),),
                preexec_fn=end_with_parent(signal.SIGTERM),
                # Ctrl+C must not reach the server, which is still needed to close the run.
                start_new_session=True,
            )

    def enter(self, environ: MutableMapping[str, str]) -> None:
        """Set the server's URL and login for Prefect in an environment, and reach this machine without a proxy.

        Call it before Prefect is imported or started.
        """
        reach_directly(environ)
        environ["PREFECT_API_URL"], environ["PREFECT_API_AUTH_STRING"] = self.url, self.login

    def wait(self) -> str:
        """Wait until the API answers; return its URL.

        Raises `InvalidUsage` if the server exits or does not start in time.
        """
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise InvalidUsage(
                    "A temporary Prefect server could not start; run `prefect server start` to see why, "
                    "or set PREFECT_API_URL to a running one."
                )
            if is_up(self.url):
                self._release_first_start()
                return self.url
            time.sleep(0.05)
        raise InvalidUsage("A temporary Prefect server did not become ready; set PREFECT_API_URL to a running one.")

    def _release_first_start(self) -> None:
        """Mark Prefect's home as set up, and release the lock of the first start."""
        if self._first is not None:
            private_file(self._ready)
            self._first.close()
            self._first = None

    def stop(self) -> None:
        """Terminate the server; kill it after 5 seconds."""
        if self._first is not None:
            self._first.close()
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _server_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the environment of the server process."""
    variables = variables_to_pass(environ) | {name: text for name, text in environ.items() if name.startswith(ITS_OWN)}
    reach_directly(variables)
    # Other processes can read its environment.
    for name in ("PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"):
        variables.pop(name, None)
    own = {SERVER_DATABASE[0] + "_CONNECTION_URL": _file_url(home.absolute() / "prefect.db")}
    if switched_on(environ):
        variables = {name: value for name, value in variables.items() if not name.startswith(SERVER_DATABASE)} | own
    elif _needs_escaping(home) and not _has_configured_database(environ):
        variables |= own  # Prefect would misread the folder's name as a part of the URL
    source = str(Path(__file__).parents[2])
    return {**variables, "PYTHONPATH": os.pathsep.join(filter(None, [source, variables.get("PYTHONPATH")]))}


def _needs_escaping(path: Path) -> bool:
    """Return whether a path has characters with a meaning in URLs."""
    return any(character in str(path) for character in "?#%")


def _has_configured_database(environ: Mapping[str, str]) -> bool:
    """Return whether the location of Prefect's database is configured."""
    names = [f"{begin}_{name}" for begin in SERVER_DATABASE for name in ("CONNECTION_URL", "DRIVER", "NAME")]
    return any(name.startswith(SERVER_DATABASE) for name in environ) or configured(environ, *names) is not None


def _file_url(path: Path) -> str:
    """Return the SQLAlchemy URL of a SQLite file."""
    if not _needs_escaping(path):
        return f"sqlite+aiosqlite:///{path}"
    from sqlalchemy import URL  # slow to import

    # Only some versions of SQLAlchemy decode paths. SQLite's file: URI works with all.
    made = URL.create("sqlite+aiosqlite", database=path.as_uri(), query={"uri": "true"})
    return made.render_as_string(hide_password=False)


def _ui_settings(url: str, port: int) -> dict[str, str]:
    # Without this, the web pages look for the API on port 4200.
    return {"PREFECT_SERVER_API_PORT": str(port), "PREFECT_SERVER_UI_API_URL": url}


@contextmanager
def _pipe_with(line: str) -> Iterator[int]:
    """Yield a descriptor of a pipe that holds the line."""
    reads, writes = os.pipe()
    try:
        os.write(writes, f"{line}\n".encode())
    finally:
        os.close(writes)
    try:
        yield reads
    finally:
        os.close(reads)


def _lock_first_start(home: Path) -> IO[str]:
    """Lock Prefect's home for its first start; return the lock file.

    Two servers that create the same database at the same time fail. Raises `InvalidUsage` after `PATIENCE_S`.
    """
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
