"""The doctor reports settings that weaken the trust in a set-up, each as a warning and not as a failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from holo_tasks.agent import open_agent
from holo_tasks.cli.doctor.trust import of_display, of_home, of_prefect
from holo_tasks.prefect_server.temporary import is_open
from holo_tasks.safety.database.store import store_at
from tests.cli.test_cli_doctor import checks, says
from tests.cli.test_cli_doctor import doctor as doctor  # fixtures
from tests.cli.test_cli_doctor import screen as screen
from tests.support.command_line import CommandLine


@contextmanager
def prefect_without_a_login() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"true" if self.path.endswith("/health") else b'"3.8.8"')

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api"
        server.shutdown()


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can reach."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.desktop
def test_a_prefect_api_without_a_login_is_only_a_warning(doctor: CommandLine) -> None:
    with prefect_without_a_login() as url:
        ended = doctor("doctor", "--json", "--base-url", "http://127.0.0.1:9/v1", env={"PREFECT_API_URL": url})
    found = checks(ended, 14)["prefect"]
    assert found["status"] == "warning"
    says(found, url, "without a login", "PREFECT_SERVER_API_AUTH_STRING")


def test_a_server_with_a_login_or_a_missing_server_is_not_open(prefect_url: str) -> None:
    assert not is_open(prefect_url, 5)
    assert not is_open("http://127.0.0.1:9/api")


@pytest.mark.parametrize(("wide", "said"), [(0o644, True), (0o600, False)])
def test_a_prefect_database_readable_by_others_is_reported(public: Path, wide: int, said: bool) -> None:
    (public / "prefect.db").touch()
    (public / "prefect.db").chmod(wide)
    environ = {"PREFECT_HOME": str(public)}
    assert bool(of_prefect(None, environ, 1)) is said
    assert not of_prefect("http://prefect.invalid/api", environ, 1), "that API's database is elsewhere"
    public.chmod(0o700)
    assert not of_prefect(None, environ, 1), "other users cannot reach it"


def test_parts_of_the_home_readable_by_others_are_reported(public: Path) -> None:
    for name in ("keys", "runs", "thesis"):
        (public / name).mkdir()
        (public / name).chmod(0o755)
    found = " ".join(of_home(public))
    assert str(public / "keys") in found
    assert str(public / "runs") in found
    assert "thesis" not in found


def test_an_unusable_database_is_reported(tmp_path: Path) -> None:
    assert of_home(tmp_path) == []
    with store_at(tmp_path).transaction() as db:
        db.execute(sa.text("UPDATE holo_version SET version = 99"))
    (said,) = of_home(tmp_path)
    assert "newer version" in said


def test_secrets_on_a_borrowed_display_are_reported() -> None:
    assert of_display(":0", {"HOME": "/"}) == []
    (said,) = of_display(":0", {"HOLO_SECRET_PIN": "x"})
    assert "Every program on display :0" in said


def test_an_open_prefect_api_is_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    log = SimpleNamespace(warning=lambda text, *of: logged.append(text % of))
    monkeypatch.setattr(open_agent, "get_run_logger", lambda: log)
    with prefect_without_a_login() as url:
        open_agent.warn_if_open(url)
        open_agent.warn_if_open(url)
    (said,) = logged
    assert f"The Prefect API at {url} answers without a login" in said
    open_agent.warn_if_open(None)
    assert "The Prefect API that Prefect started for this flow answers without a login" in logged[1]
