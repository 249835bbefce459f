"""The services that a flow starts for itself: a rehearsal model and a temporary Prefect server."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest
from prefect import get_client

from holo_blocks import local_prefect, rehearsal_model
from holo_tasks import ModelFailed
from holo_tasks.cli.init import STARTERS
from holo_tasks.prefect_server.temporary import is_up


@pytest.mark.slow
def test_a_rehearsal_model_serves_until_the_end_of_its_block() -> None:
    with rehearsal_model(STARTERS / "list" / "playbook.yaml") as model:
        listed = httpx.get(f"{model.base_url}/models").json()["data"]
        assert [entry["id"] for entry in listed] == [model.model]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{model.base_url}/models")


def test_a_playbook_with_a_mistake_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.yaml").write_text("name: wrong\ngoals: {look-up: {steps: [{clikc: Search}]}}\n")
    with pytest.raises(ModelFailed, match="did not start"), rehearsal_model(tmp_path / "wrong.yaml"):
        pass
    assert "wrong.yaml:2" in capfd.readouterr().err


@pytest.mark.slow
def test_a_temporary_server_serves_until_the_end_of_its_block() -> None:
    before = dict(os.environ)
    with local_prefect() as url:
        assert is_up(url)
        with get_client(sync_client=True) as client:
            assert str(client.api_url).rstrip("/") == url
            assert client.api_healthcheck() is None
            client.hello().raise_for_status()
    assert not is_up(url)
    assert dict(os.environ) == before


@pytest.mark.slow
def test_a_temporary_server_ends_with_an_error_of_its_block() -> None:
    before = dict(os.environ)
    with pytest.raises(RuntimeError, match="a flow failed"), local_prefect() as url:
        raise RuntimeError("a flow failed")
    assert not is_up(url)
    assert dict(os.environ) == before


async def test_a_configured_server_is_used(prefect: str) -> None:
    with local_prefect() as url:
        assert url == prefect
    assert is_up(prefect)
