"""Answers that an MCP client may give in a person's place."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.cli.mcp import tools
from holo_tasks.cli.mcp.client_permissions import ClientPermissions
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.person import NO, YES


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The answers to a run that waits for the approval of an action."""
    told: list[str | None] = []
    run = SimpleNamespace(alive=True, progress={"handoff": "h-1"})
    monkeypatch.setattr(tools.processes, "find", lambda home, run_id: run)
    monkeypatch.setattr(tools, "handoff_fields", lambda id: {"id": id, "asks_for_a_yes_to_an_action": True})
    monkeypatch.setattr(tools.handoff, "resume", lambda id, *, choice, **_: told.append(choice))
    return told


def server(folder: Path, *, may_approve: bool) -> Any:
    return tools.Tools(ClientPermissions(folder, (), argparse.Namespace(may_approve=may_approve)))


@pytest.mark.parametrize("choice", [YES, "always", None])
def test_a_client_may_not_approve_an_action(answered: list[str | None], tmp_path: Path, choice: str | None) -> None:
    with pytest.raises(InvalidUsage, match=f"may only say '{NO}'"):
        server(tmp_path, may_approve=False)._answer("run-1", choice, "")
    assert answered == []


def test_a_client_may_refuse_and_may_approve_if_the_server_allows_it(
    answered: list[str | None], tmp_path: Path
) -> None:
    server(tmp_path, may_approve=False)._answer("run-1", NO, "")
    server(tmp_path, may_approve=True)._answer("run-1", YES, "")
    assert answered == [NO, YES]
