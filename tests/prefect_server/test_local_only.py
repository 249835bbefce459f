"""Local-only mode of a command: it refuses every remote endpoint by name, before anything is sent or started."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from holo_tasks.agent.open_agent import open_agent
from holo_tasks.audit import Destination
from holo_tasks.cli.commands import carry_out
from holo_tasks.cli.doctor.findings import Chain, Finding
from holo_tasks.cli.doctor.storage_checks import check_audit
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop import AttachedDesktop
from holo_tasks.kill.sources import _client
from holo_tasks.machine import pending_notes
from holo_tasks.models.build_model import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.prefect_server.local_only import check_advisors, check_prefect, check_rest, enter_late
from holo_tasks.prefect_server.temporary import TemporaryServer, is_up
from holo_tasks.safety.database.store import store_at
from tests.support.redirecting import Server
from tests.support.scripted_model import ScriptedModel

REMOTE = "203.0.113.7"
ELSEWHERE = ("PG", "AWS_", "PREFECT_API", "PREFECT_SERVER", "HOLO_DATABASE", "HOLO_ANCHORS", "HOLO_SIGNING")
KEYS = {"access_key": "a", "secret_key": "b"}


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    monkeypatch.setattr(os, "environ", os.environ.copy())  # the command sets the switch for its whole process
    for name in [
        name
        for name in os.environ
        if name.startswith(
            ("PG", "AWS_", "PREFECT_API", "PREFECT_SERVER", "HOLO_DATABASE", "HOLO_SIGNING", "HOLO_ANCH")
        )
    ]:
        del os.environ[name]


def refuse(*_: object, **__: object) -> None:
    raise ConnectionRefusedError


def refusal(*arguments: str) -> str:
    with pytest.raises(InvalidUsage) as refused:
        carry_out(["run", "Look.", "--app", "/no/such/program", *arguments])
    return str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "environ", "what"),
    [
        (["--base-url", f"http://{REMOTE}/v1"], {}, "the model's endpoint"),
        (["--audit", "s3://evidence/a"], {}, "Amazon's"),
        (["--audit", "s3://evidence/a"], {"AWS_ENDPOINT_URL": f"http://{REMOTE}:9000"}, "bucket s3://evidence"),
        ([], {"PREFECT_API_URL": f"http://{REMOTE}:4200/api"}, "artifacts carry pictures"),
        ([], {"HOLO_DATABASE_URL": f"postgresql://u:hidden@{REMOTE}/db"}, "the database"),
        ([], {"HOLO_DATABASE_URL": f"postgresql://u:hidden@127.0.0.1/db?hostaddr={REMOTE}"}, "more than one host"),
        ([], {"HOLO_DATABASE_URL": f"postgresql://u:hidden@127.0.0.1/db?host={REMOTE}"}, "the database"),
        ([], {"HOLO_DATABASE_URL": "postgresql://127.0.0.1/db", "PGSERVICE": "far"}, "PGSERVICE"),
        ([], {"HOLO_DATABASE_URL": "postgresql:///db", "PGHOST": REMOTE}, "the database"),
        ([], {"HOLO_ANCHORS": "s3://heads/a"}, "Amazon's"),
        ([], {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://u:hidden@{REMOTE}/p"}, "own server"),
        ([], {"PREFECT_API_DATABASE_HOST": REMOTE}, "own server"),
        ([], {"PREFECT_API_DATABASE_CONNECTION_URL": "hidden"}, "cannot be read"),
        ([], {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{REMOTE}:4318"}, "the collector"),
    ],
)
@pytest.mark.parametrize("switch", ["flag", "environment"])
def test_a_run_refuses_remote_services(
    arguments: list[str], environ: dict[str, str], what: str, switch: str, tmp_path: Path
) -> None:
    with ScriptedModel([]) as model:
        os.environ.update({"HOLO_BASE_URL": model.base_url, **environ})
        if switch == "flag":
            arguments = [*arguments, "--local-only"]
        else:
            os.environ["HOLO_LOCAL_ONLY"] = "1"
        said = refusal(*arguments)
        assert model.requests == []
    assert said.startswith("Local-only mode is on")
    assert what in said
    assert "hidden" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_run_with_only_local_services_starts(tmp_path: Path) -> None:
    here = Destination.parse("s3://evidence/a", endpoint_url="http://localhost:9000", **KEYS)
    os.environ["HOLO_DATABASE_URL"] = "postgresql://u:p@localhost/db"
    assert check_rest(here, "http://127.0.0.1:4200/api").kept_here() == here.kept_here() != here
    assert check_prefect("http://localhost:4200/api") == "http://127.0.0.1:4200/api"
    os.environ["HOLO_DATABASE_URL"] = "postgresql:///db?host=/run/postgresql"
    check_rest(Destination.parse(str(tmp_path)), None)


@pytest.mark.parametrize("url", [f"http://{REMOTE}:4200/api", "http://[", "nonsense"])
@pytest.mark.parametrize("switch", ["1", ""])
def test_runs_are_listed_in_local_only_mode(
    url: str, switch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(socket, "create_connection", refuse)
    pending_notes.leave(tmp_path, "flow-run", {"flow_run_id": "x"})
    os.environ.update(PREFECT_API_URL=url, HOLO_LOCAL_ONLY=switch)
    assert carry_out(["runs", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"runs": [], "items": []}
    if switch:
        (said,) = told.err.splitlines()
        assert "could not be delivered" in said
    assert len(list(pending_notes.pending(tmp_path, "flow-run"))) == 1


def test_a_remote_database_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    os.environ.update(HOLO_LOCAL_ONLY="1", HOLO_DATABASE_URL=f"postgresql://{REMOTE}/db")
    with pytest.raises(InvalidUsage, match="not this machine"):
        store_at(tmp_path)


async def test_an_agent_refuses_remote_services_before_it_opens_a_trace(tmp_path: Path) -> None:
    endpoint = ModelEndpoint("http://127.0.0.1:9/v1", SecretStr("k"), local_only=True)
    unbound = ModelEndpoint("http://127.0.0.1:9/v1", None)
    far = Destination.parse("s3://evidence/a", endpoint_url=f"http://{REMOTE}:9000", **KEYS)
    with pytest.raises(InvalidUsage, match="bucket s3://evidence/a is at"):
        async with open_agent(
            title="t", desktop=None, endpoint=endpoint, profile=profile_for("holo3-35b"), destination=far, home=tmp_path
        ):
            pass
    with pytest.raises(InvalidUsage, match="advisor 'second'"):
        check_advisors({"second": model_at(unbound, profile_for("holo3-35b"))})
    check_advisors({"second": model_at(endpoint, profile_for("holo3-35b"))})
    assert list(tmp_path.iterdir()) == []
    await endpoint.close()
    await unbound.close()


async def test_an_agent_turns_the_mode_on_in_the_environment(tmp_path: Path) -> None:
    endpoint = ModelEndpoint("http://127.0.0.1:9/v1", SecretStr("k"), local_only=True)
    agent = {"title": "t", "desktop": None, "endpoint": endpoint, "profile": profile_for("holo3-35b"), "home": tmp_path}
    here = Destination.parse(str(tmp_path / "runs"))
    os.environ["HOLO_ANCHORS"] = "s3://heads/a"
    with pytest.raises(InvalidUsage, match="bucket s3://heads/a is Amazon's"):
        async with open_agent(**agent, destination=here):
            pass
    assert os.environ["HOLO_LOCAL_ONLY"] == "1"
    with pytest.raises(InvalidUsage, match="not this machine"):
        AttachedDesktop("203.0.113.7:0")
    await endpoint.close()


@pytest.mark.parametrize(
    ("url", "unproxied", "refused"),
    [
        ("http://127.0.0.1:4200/api", "", True),
        (None, "example.com", True),
        ("http://127.0.0.1:4200/api", "example.com,127.0.0.1", False),
        ("http://localhost:4200/api", "127.0.0.1", True),
        (None, "*", False),
    ],
)
def test_a_proxy_that_prefect_may_have_used_is_refused(url: str | None, unproxied: str, refused: bool) -> None:
    environ = {"HTTP_PROXY": "http://203.0.113.7:3128", "NO_PROXY": unproxied}
    with pytest.raises(InvalidUsage, match="HTTP_PROXY") if refused else contextlib.nullcontext():
        enter_late(environ, url)
    assert ("HTTP_PROXY" in environ) is refused


def test_the_watch_for_kills_uses_no_proxy() -> None:
    with Server() as proxy, Server() as prefect:
        os.environ.update(HOLO_LOCAL_ONLY="1", http_proxy=proxy.url, no_proxy="")
        with _client(prefect.url) as client:
            client.get("/x")
    assert (proxy.seen, prefect.seen) == ([], ["GET /x"])


def test_a_redirected_health_check_is_not_up() -> None:
    with Server(to="http://203.0.113.7/health") as prefect:
        assert not is_up(f"{prefect.url}/api")
    assert prefect.seen == ["GET /api/health"]


@pytest.mark.parametrize("switch", ["0", "1"])
def test_a_temporary_server_has_a_local_database(switch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: started.append(env))
    far = {f"PREFECT_{kind}_DATABASE_CONNECTION_URL": f"postgresql://{REMOTE}/p" for kind in ("API", "SERVER")}
    far["PREFECT_API_DATABASE_HOST"] = REMOTE
    TemporaryServer({**far, "PREFECT_HOME": str(tmp_path), "HOLO_LOCAL_ONLY": switch})
    kept = {name: value for name, value in started[0].items() if "DATABASE" in name}
    here = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{tmp_path}/prefect.db"}
    assert kept == (here if switch == "1" else far)


@pytest.mark.parametrize("switch", ["0", "1"])
def test_a_prefect_home_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    started: list[dict[str, str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: started.append(env))
    home = tmp_path / "a?b #c%20d"
    TemporaryServer({"PREFECT_HOME": str(home), "HOLO_LOCAL_ONLY": switch})
    url = sa.make_url(started[0]["PREFECT_SERVER_DATABASE_CONNECTION_URL"])
    assert url.drivername == "sqlite+aiosqlite"
    with sa.create_engine(url.set(drivername="sqlite")).begin() as db:
        db.execute(sa.text("CREATE TABLE t (c INTEGER)"))
    assert (home / "prefect.db").exists()


def test_an_item_is_not_retried_with_a_remote_prefect() -> None:
    os.environ.update(HOLO_LOCAL_ONLY="1", PREFECT_API_URL=f"http://{REMOTE}:4200/api")
    with pytest.raises(InvalidUsage, match="the Prefect API"):
        carry_out(["retry", "INV"])


async def test_problems_with_database_and_key_are_findings(tmp_path: Path) -> None:
    async def told() -> str:
        found: list[Finding] = []
        try:
            await check_audit(Chain(["audit"], found.append), None, 10)
        except InvalidUsage as error:
            return str(error)
        return found[0].message

    assert "can be written" in await told()
    os.environ["HOLO_SIGNING_KEY_FILE"] = str(tmp_path / "none")
    assert "HOLO_SIGNING_KEY_FILE" in await told()
    os.environ.update(HOLO_LOCAL_ONLY="1", HOLO_DATABASE_URL=f"postgresql://{REMOTE}/db")
    assert "the database" in await told()
