"""A display that cannot be read ends `run` and `record` with one sentence, and no model is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_cli import DONE, Runs, XServer
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.desktop


def test_a_display_of_16_bits_costs_no_request(
    cli: CommandLine, x_server: XServer, display: str, tmp_path: Path
) -> None:
    x_server(display, depth="16")
    out = tmp_path / "steps.yaml"
    given = ("record", "--goal", "Add one.", "--answer", "1", "--out", str(out), "--display", display)
    with Runs(cli) as runs:
        recording = cli.start(*given)
        runs.start("run", [DONE], "--display", display)
        ended, recorded = runs.ends()["run"], recording.end()
    assert (ended.code, ended.told["status"], recorded.code) == (15, "desktop_failed", 15)
    assert not runs.models["run"].requests
    assert not out.exists()
    for each in (ended, recorded):
        assert "has a color depth of 16 bits" in each.complaint
        assert display in each.complaint
