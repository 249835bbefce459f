"""Local-only mode of a command: every remote endpoint is refused by name, and nothing is sent or started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from holo_tasks.agent import open_agent
from holo_tasks.audit import Destination
from holo_tasks.cli import _parser
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.local_only import check_advisors, check_prefect, check_rest
from holo_tasks.models.asked import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.profile import profile_for
from holo_tasks.safety.store import store_at
from tests.support.scripted_model import ScriptedModel

REMOTE = "203.0.113.7"
KEYS = {"access_key": "a", "secret_key": "b"}


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))
    monkeypatch.setattr(os, "environ", os.environ.copy())  # the command sets the switch for its whole process
    for name in [name for name in os.environ if name.startswith(("PG", "AWS_", "PREFECT_API", "HOLO_DATABASE"))]:
        del os.environ[name]


def refusal(*arguments: str) -> str:
    options = _parser().parse_args(["run", "Look.", "--app", "/no/such/program", *arguments])
    options.given = list(arguments)
    with pytest.raises(InvalidUsage) as refused:
        options.do(options)
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
    ],
)
@pytest.mark.parametrize("switch", ["flag", "environment"])
def test_a_run_refuses_what_is_elsewhere(
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


def test_a_run_whose_everything_is_here_is_let_through(tmp_path: Path) -> None:
    here = Destination.parse("s3://evidence/a", endpoint_url="http://localhost:9000", **KEYS)
    os.environ["HOLO_DATABASE_URL"] = "postgresql://u:p@localhost/db"
    assert check_rest(here, "http://127.0.0.1:4200/api").kept_here() == here.kept_here() != here
    assert check_prefect("http://localhost:4200/api") == "http://127.0.0.1:4200/api"
    os.environ["HOLO_DATABASE_URL"] = "postgresql:///db?host=/run/postgresql"
    check_rest(Destination.parse(str(tmp_path)), None)


def test_the_database_is_refused_when_it_is_opened_too(tmp_path: Path) -> None:
    os.environ.update(HOLO_LOCAL_ONLY="1", HOLO_DATABASE_URL=f"postgresql://{REMOTE}/db")
    with pytest.raises(InvalidUsage, match="not this machine"):
        store_at(tmp_path)


async def test_an_agent_refuses_what_is_elsewhere_before_it_opens_a_trace(tmp_path: Path) -> None:
    endpoint = ModelEndpoint("http://127.0.0.1:9/v1", SecretStr("k"), local_only=True)
    far = Destination.parse("s3://evidence/a", endpoint_url=f"http://{REMOTE}:9000", **KEYS)
    with pytest.raises(InvalidUsage, match="bucket s3://evidence/a is at"):
        async with open_agent(
            title="t", desktop=None, endpoint=endpoint, profile=profile_for("holo3-35b"), destination=far, home=tmp_path
        ):
            pass
    unbound = ModelEndpoint("http://127.0.0.1:9/v1", None)
    with pytest.raises(InvalidUsage, match="advisor 'second'"):
        check_advisors({"second": model_at(unbound, profile_for("holo3-35b"))})
    check_advisors({"second": model_at(endpoint, profile_for("holo3-35b"))})
    assert list(tmp_path.iterdir()) == []
    await endpoint.close()
    await unbound.close()
