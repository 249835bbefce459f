"""Files of the commands are private under any umask; files of the driven program follow the umask."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from holo_tasks.audit.stores import Folder
from holo_tasks.cli.doctor.trust import of_home
from tests.support.command_fixtures import command
from tests.support.command_line import CommandLine, Ended
from tests.support.long import few
from tests.support.scripted_model import ScriptedModel, step

FRESH = {"HOLO_HOME": None, "PREFECT_API_URL": None, "PREFECT_API_AUTH_STRING": None}


def wide(*places: Path) -> dict[str, str]:
    """Return the files at and below some places that other users have a permission for."""
    found = [path for place in places for path in (place, *place.rglob("*"))]
    assert len(found) > len(places)
    return {
        str(path): oct(path.stat().st_mode)
        for path in found
        if stat.S_IMODE(path.stat().st_mode) != (0o700 if path.is_dir() else 0o600)
    }


@pytest.fixture
def commands(tmp_path: Path) -> Callable[..., Ended]:
    """Run a command under an umask, with all its folders still missing."""
    line = CommandLine(tmp_path, None)
    fresh = {**FRESH, "XDG_DATA_HOME": str(tmp_path / "a" / "data"), "PREFECT_HOME": str(tmp_path / "b" / "prefect")}

    def run(mask: int, *arguments: str) -> Ended:
        ended = line(*arguments, env=fresh, umask=mask)
        assert "Traceback" not in ended.stderr
        return ended

    return run


FIRST = ("runs", "keys new", "kill --all", "handoff list", "approve", "doctor --timeout 1")


@pytest.mark.parametrize("mask", [0o000, 0o022])
@pytest.mark.parametrize("first", few(FIRST, 3))
def test_files_of_a_first_command_are_private(
    commands: Callable[..., Ended], tmp_path: Path, first: str, mask: int
) -> None:
    commands(mask, *first.split())
    assert not wide(tmp_path / "a")


@pytest.mark.parametrize("mask", few([0o022, 0o000]))
def test_files_of_a_first_run_are_private_and_its_programs_files_are_not(
    commands: Callable[..., Ended], tmp_path: Path, mask: int
) -> None:
    saved, report, runs = tmp_path / "saved", tmp_path / "report.html", tmp_path / "runs.html"
    app = f"umask > {shlex.quote(str(saved))}; exec {shlex.join(command('counter', tmp_path / 'clicks'))}"
    with ScriptedModel([step("answer", content="done")]) as model:
        ended = commands(
            mask, "run", "Answer.", "--app", f"sh -c {shlex.quote(app)}", "--base-url", model.base_url, "--json"
        )
    assert ended.told["status"] == "answered", ended.stderr
    trace = ended.told["trace"]
    assert commands(mask, "report", trace, "--out", str(report)).code == 0
    assert commands(mask, "index", "--out", str(runs), "--reports").code == 0
    assert commands(mask, "export", "--csv", str(tmp_path / "runs.csv")).code == 0
    assert not wide(tmp_path / "a", tmp_path / "b", tmp_path / "runs-reports")
    assert {oct(path.stat().st_mode & 0o777) for path in (report, runs, tmp_path / "runs.csv")} == {"0o600"}
    assert int(saved.read_text(), 8) == mask
    assert stat.S_IMODE(saved.stat().st_mode) == 0o666 & ~mask
    report.chmod(0o644)
    assert commands(mask, "report", trace, "--out", str(report)).code == 0
    assert stat.S_IMODE(report.stat().st_mode) == 0o644


def test_open_files_of_an_earlier_version_are_made_private(commands: Callable[..., Ended], tmp_path: Path) -> None:
    commands(0o022, "runs")
    home = tmp_path / "a" / "data" / "holo-tasks"
    home.chmod(0o755)
    (home / "holo.db").chmod(0o644)
    commands(0o022, "runs")
    assert not wide(home)


def test_a_runs_folder_among_other_files_is_made_private_by_a_run(tmp_path: Path) -> None:
    (tmp_path / "thesis").touch()
    (tmp_path / "runs").mkdir()
    for open_to_all in (tmp_path, tmp_path / "runs"):
        open_to_all.chmod(0o755)
    asyncio.run(Folder(tmp_path / "runs").open("r", home=tmp_path).close())
    assert stat.S_IMODE((tmp_path / "runs").stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_accepts_another_users_home_and_the_doctor_reports_it(
    commands: Callable[..., Ended], tmp_path: Path
) -> None:
    home = tmp_path / "a" / "data" / "holo-tasks"
    home.mkdir(parents=True)
    os.chown(home, 65_534, 65_534)
    assert commands(0o022, "keys", "new").code == 0
    (said,) = of_home(home)
    assert str(home) in said
    assert "let it belong to this user or to root" in said
