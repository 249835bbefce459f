"""The program that the command line starts: its environment variables, and its user."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, InProcess
from tests.support.sandboxes import needs_walls

UID = "65534"
MODEL = ("--base-url", "http://127.0.0.1:9/v1", "--json")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that all users can write to."""
    folder = Path(tempfile.mkdtemp(prefix="holo-shared-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.desktop
def test_a_program_gets_its_own_variables_and_no_keys(cli: CommandLine, shared: Path) -> None:
    env = {
        "APP_LOG": "/tmp/app.log",
        "PORT": "8080",
        "HOLO_API_KEY": "canary",
        "GITHUB_TOKEN": "canary",
        "LEDGER_PASSWORD": "canary",
        "OTHER_PASSWORD": "canary, on purpose",
        "HOLO_PROGRAM_ENV": "OTHER_PASSWORD",
    }
    other = ("--run-as", UID) if os.geteuid() == 0 else ()
    ended = cli("run", "Go.", *MODEL, "--app", f"sh -c '(id -u; env) > {shared}/told; exit 3'", *other, env=env)
    assert (ended.code, ended.told["status"]) == (15, "desktop_failed")
    told = (shared / "told").read_text().splitlines()
    assert told[0] == (UID if other else str(os.geteuid()))
    got = dict(line.partition("=")[::2] for line in told[1:])
    assert {name for name in env if name in got} == {"APP_LOG", "PORT", "OTHER_PASSWORD", "HOLO_PROGRAM_ENV"}
    assert "did not get LEDGER_PASSWORD, " in ended.complaint, "variables that many shells set are not named"
    assert "canary" not in ended.complaint


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--display", ":7", "--run-as", UID), "give --app"),
        (("--app", "xterm", "--run-as", " "), "--run-as is empty"),
        (("--app", "xterm", "--run-as", "no-such-user"), "There is no user 'no-such-user'"),
        (("--app", "xterm", "--run-as", str(os.geteuid())), "can read the agent's files"),
    ],
)
def test_an_invalid_user_is_refused(here: InProcess, arguments: tuple[str, ...], said: str) -> None:
    ended = here("run", "Go.", *MODEL, *arguments)
    assert (ended.code, ended.told["status"]) == (2, "invalid")
    assert said in ended.complaint


@needs_walls
@pytest.mark.desktop
def test_an_isolated_program_sees_only_the_granted_folders(cli: CommandLine, shared: Path, tmp_path: Path) -> None:
    seen, kept = tmp_path / "seen", tmp_path / "kept"
    for folder in (seen, kept):
        folder.mkdir()
    app = f"sh -c '(ls {tmp_path}; ls /sys; touch {seen}/x; cat /proc/net/route) > {shared}/told 2>&1; exit 3'"
    granted = ("--folder", f"{shared}=write", "--folder", str(seen), "--network", "portal.example:443")
    ended = cli("run", "Go.", *MODEL, "--app", app, *granted)
    assert (ended.code, ended.told["status"]) == (15, "desktop_failed")
    told = (shared / "told").read_text().splitlines()
    assert told[0] == "seen"
    assert told[1].endswith("No such file or directory")
    assert told[2].endswith("Read-only file system")
    assert len(told) == 4, "the route table has a heading and no route"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--display", ":7", "--network", "none"), "add --app"),
        (("--app", "xterm", "--network", "portal.example"), "hosts with their ports"),
        (("--app", "xterm", "--folder", "/usr"), "runs without a sandbox"),
        (("--app", "xterm", "--network", "none", "--folder", "/run=write"), "'/run' cannot be granted"),
        (
            ("--app", "xterm", "--network", "none", "--folder", "/usr", "--audit", "/usr/evidence"),
            "the evidence of this",
        ),
    ],
)
def test_an_invalid_network_option_is_refused(here: InProcess, arguments: tuple[str, ...], said: str) -> None:
    ended = here("run", "Go.", *MODEL, *arguments)
    assert (ended.code, ended.told["status"]) == (2, "invalid")
    assert said in ended.complaint
