"""Every test run has its own Prefect home and its own local state; nothing of the machine's is touched."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from prefect.context import SettingsContext

    from tests.support.postgres import Postgres, Servers

# The machine may be busy: how long an example takes says nothing.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / below) for below in ("tests/apps", "flows", "flows/demo"))]

from holo_tasks.machine.memory import collect_garbage_rarely  # noqa: E402  they need the path
from tests.support import authorities, in_memory, prefect_client, schedule, warm  # noqa: E402
from tests.support.compiled_once import compiled_once  # noqa: E402
from tests.support.started import read_before  # noqa: E402

collect_garbage_rarely()
_memory = in_memory.enter()
_home = tempfile.TemporaryDirectory(prefix="holo-tests-")
_recording = Path(_home.name, "recording")
# Prefect reads its settings during its import, so these come before the import of any test.
os.environ.update(
    PREFECT_HOME=f"{_home.name}/prefect",
    PREFECT_LOCAL_STORAGE_PATH=f"{_home.name}/results",
    HOLO_HOME=f"{_home.name}/holo",
    PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="WARNING",
    PREFECT_LOGGING_TO_API_ENABLED="0",
    HOLO_PATIENCE="0",  # a service that is away in a test stays away, unless the test says otherwise
    PREFECT_SERVER_ANALYTICS_ENABLED="0",
    DO_NOT_TRACK="1",
    # Else each client requests a CSRF token, which a server started for tests does not need.
    PREFECT_CLIENT_CSRF_SUPPORT_ENABLED="0",
    # The login of the servers that tests share: whatever a test starts finds it here.
    PREFECT_API_AUTH_STRING="holo:tests",
    SSL_CERT_FILE=str(authorities.one(Path(_home.name))),
)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background jobs are born deaf to it, and so would be all that tests start and end by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a child of nohup outlives its parent
for name in (
    "PREFECT_API_URL",
    "PREFECT_PROFILE",
    "HAI_API_KEY",
    "HOLO_API_KEY",
    "HOLO_BASE_URL",
    "HOLO_MODEL",
    "HOLO_PROFILES",
):
    os.environ.pop(name, None)

# A process that a test starts asks before it reads a picture whether the picture was read before.
read_before.for_children(os.environ, Path(_home.name))


from tests.support.command_fixtures import app, cli, display, here, s3, small_disk, x_server  # noqa: E402, F401


def pytest_addoption(parser: pytest.Parser) -> None:
    more = "keep anew how long each module takes, and what programs read"
    parser.addoption("--keep-durations", action="store_true", help=more)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--keep-durations") and not hasattr(config, "workerinput"):
        os.environ[read_before.ANEW] = "1"
        config.pluginmanager.register(schedule.Durations())


def pytest_sessionstart(session: pytest.Session) -> None:
    from holo_tasks.desktop.session import child
    from holo_tasks.prefect_server import temporary

    child.subprocess = warm.Starting(warm.HostPopen)  # type: ignore[attr-defined]
    temporary.subprocess = warm.Starting(warm.ServerPopen)  # type: ignore[attr-defined]
    warm.in_tests = True
    schedule.tell_less(session.config)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    with compiled_once(getattr(session.config, "workerinput", {}).get("testrunuid", "")):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.timeout(7200))


def pytest_collection_finish() -> None:
    gc.freeze()  # six thousand tests are no garbage, and take long to look through


@pytest.hookimpl(optionalhook=True)  # unless pytest-xdist is there
def pytest_xdist_setupnodes() -> None:
    from execnet.gateway_base import ThreadExecModel

    ThreadExecModel.subprocess = warm.Starting(warm.WorkerPopen)  # type: ignore[method-assign, assignment]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> schedule.LongestFirst | None:
    if config.getoption("dist") != "loadscope":
        return None
    return schedule.LongestFirst(config, log, schedule.known())


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.pluginmanager.get_plugin("session")
    if config.getoption("--keep-durations") and not hasattr(config, "workerinput"):
        read_before.keep(Path(os.environ[read_before.FOLDER]))
    if _memory is not None and getattr(session, "exitstatus", 1) == pytest.ExitCode.OK:
        _home.cleanup()
        in_memory.leave(_memory)


@pytest.fixture(scope="session")
def prefect_url() -> Iterator[str]:
    """A real Prefect server for the whole test run; returns its API's URL. Of events it keeps those of `recorded`."""
    from tests.support import prefect_shared

    # Automations are tried on servers of their own: here each event would be held against none.
    environ = {**os.environ, "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "0"}
    server = prefect_shared.start(environ, os.environ["PREFECT_API_AUTH_STRING"], _recording)
    try:
        yield server.wait()
    finally:
        server.stop()


@pytest.fixture
def recorded(prefect_url: str) -> Iterator[None]:
    """What happens in this test's tasks is written down by the Prefect server, and so are other events."""
    _recording.touch()
    yield
    _recording.unlink()


@pytest.fixture(scope="session")
def prefect_settings(prefect_url: str) -> SettingsContext:
    """Prefect's settings with the real server's address; to make them takes as long as some tests."""
    from prefect.context import get_settings_context
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: prefect_url}):
        prefect_client.ask_once(prefect_url)
        prefect_client.tell_what_is_kept(prefect_url, _recording)
        prefect_client.log_as_set()
        return get_settings_context()


@pytest.fixture
def prefect(
    prefect_url: str, prefect_settings: SettingsContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Flows of this test run against the real server, with local state of their own."""
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "holo"))
    with prefect_settings.model_copy():
        yield prefect_url


READS_ITSELF = {"fuzz", "safety", "set_of_mark", "vision"}
"""Rooms in which it matters what OCR says of a picture here and now."""


@pytest.fixture(autouse=True)
def known_readings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read again that was read before, as in processes that tests start, unless reading is tested."""
    room = request.path.relative_to(ROOT).parts[1]
    if room in READS_ITSELF and request.node.get_closest_marker("desktop") is None:
        return
    from holo_tasks.vision.ocr import Ocr

    find, read = read_before.sharing(Path(os.environ[read_before.FOLDER]))
    monkeypatch.setattr(Ocr, "find", find)
    monkeypatch.setattr(Ocr, "read", read)


@pytest.fixture(scope="session")
def postgres_servers() -> Iterator[Servers]:
    """Postgres servers by major version; each is started when it is first asked for, once for the whole test run."""
    from tests.support.postgres import Servers

    servers = Servers()
    try:
        yield servers
    finally:
        servers.stop()


@pytest.fixture
def postgres(postgres_servers: Servers) -> Postgres:
    """A Postgres server of the oldest version that is installed."""
    return postgres_servers.oldest


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path, postgres_servers: Servers) -> str:
    """The URL of an empty database, of either make, as HOLO_DATABASE_URL has it; every promise holds on both."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'holo.db'}"
    version = request.param.partition("-")[2]
    server = postgres_servers[int(version)] if version else postgres_servers.oldest
    return server.new_database()
