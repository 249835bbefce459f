"""Test `holo-tasks kill` when HOLO_HOME takes no new files, or only empty ones."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from holo_tasks.cli import kill as kill_command
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.stop import kill_files
from holo_tasks.kill.run_registry import Registration, Running
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.kill_requests import Kills
from tests.support import warm
from tests.support.command_line import CommandLine, until
from tests.support.inputs import Inputs, witnessed
from tests.support.scripted_model import ScriptedModel, step

RUN = "20260101-000000-one"
OBEYS = """
import sys, time
from pathlib import Path
from holo_tasks.desktop.stop import kill_files
from holo_tasks.kill.run_registry import Registration, Running
home = Path(sys.argv[1])
folder = kill_files.folder_in(home)
runs = [Running.here(name, "Go.", "", "") for name in sys.argv[2:]]
kept = [Registration(home, run) for run in runs]
print("begun", flush=True)
while not any(kill_files.find_request(folder, run.run_id, run.began_s) for run in runs):
    time.sleep(0.01)
"""
Start = Callable[..., "subprocess.Popen[str]"]


def _mount(*arguments: str | Path) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0


def full(disk: Path) -> Path:
    with suppress(OSError), (disk / "large").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))
    return disk


def without_inodes(disk: Path) -> Path:
    with suppress(OSError):
        for number in range(10_000):
            (disk / str(number)).touch()
    return disk


def read_only(disk: Path) -> Path:
    """Make the disk appear read-only, as after I/O errors. A real remount fails while a file is open."""
    seen = disk.with_name("seen")
    seen.mkdir()
    assert _mount("--bind", disk, seen)
    assert _mount("-o", "remount,bind,ro", seen)
    return seen


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system that fills up quickly."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    if not _mount("-t", "tmpfs", "-o", "size=4m,nr_inodes=200", "tmpfs", folder):
        pytest.skip("this machine does not let root mount")
    yield folder
    for mounted in (folder.with_name("seen"), folder):
        if mounted.is_mount():
            subprocess.run(["umount", "-l", mounted], check=True)


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process with runs in progress that ends when one run is asked to stop."""
    started: list[subprocess.Popen[str]] = []

    def begin(home: Path, *runs: str) -> subprocess.Popen[str]:
        told = [sys.executable, "-c", OBEYS, str(home), *runs]
        process = warm.ScriptPopen(told, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def unwritable(*_: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize("run_id", [RUN, None])
@pytest.mark.parametrize(
    ("spoil", "ends", "doubt"),
    [(full, 0, ""), (without_inodes, -signal.SIGTERM, "No space left"), (read_only, -signal.SIGTERM, "Read-only")],
)
def test_a_run_stops_in_spite_of_disk_errors(
    disk: Path, start: Start, spoil: Callable[[Path], Path], ends: int, doubt: str, run_id: str | None
) -> None:
    process = start(disk, RUN)
    found = kill_command.kill(spoil(disk), run_id, "enough")
    assert found.lines == (f"{RUN}  stopped",)
    assert process.wait() == ends
    # A named run is reported as stopped. A starting run is in no list yet.
    assert [doubt in said for said in found.doubts] == ([True] if doubt and run_id is None else [])


def test_a_request_without_a_reason_still_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kill_files.folder_in(tmp_path)
    monkeypatch.setattr(json, "dump", unwritable)
    kill_files.ask_one(folder, RUN, "enough")
    kill_files.answer(folder, RUN)
    request = kill_files.find_request(folder, RUN, 0.0)
    assert request is not None
    assert kill_files.reason_in(request) == ""
    assert kill_files.has_stopped(folder, RUN)
    assert len(list(folder.iterdir())) == 2, "no drafts"


def test_ending_a_process_ends_all_its_runs_and_reports_them(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, other = start(tmp_path, RUN, "beside"), start(tmp_path, "other")
    monkeypatch.setattr(kill_files, "ask_one", unwritable)
    found = kill_command.kill(tmp_path, RUN, "")
    assert (sorted(found.lines), found.doubts) == ([f"{RUN}  stopped", "beside  stopped"], ())
    assert both.wait() == -signal.SIGTERM
    assert other.poll() is None


def test_another_process_with_the_same_id_is_not_signalled(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As outside a container: the process id belongs to another process here.
    stranger = start(tmp_path / "elsewhere", "other")
    registration = Registration(tmp_path, Running.here(RUN, "Go.", "", "")._replace(pid=stranger.pid))
    monkeypatch.setattr(kill_files, "ask_all", unwritable)
    monkeypatch.setattr(kill_command, "PATIENCE_S", 0.1)
    found = kill_command.kill(tmp_path, None, "")
    registration.close()
    assert stranger.poll() is None
    assert any("did not answer" in doubt for doubt in found.doubts)


@pytest.mark.parametrize("broken", ["folder_in", "ask_all"])
def test_other_machines_get_the_request_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr(kill_files, broken, unwritable)
    monkeypatch.setattr(kill_command, "PATIENCE_S", 0.0)
    with pytest.raises(InvalidUsage, match=r"cannot be written \(Read-only file system\); set HOLO_HOME"):
        kill_command.kill(tmp_path, None, "")
    kills = Kills(store_at(tmp_path))
    monkeypatch.setattr(kill_command, "_shared_requests", lambda home: kills)
    (doubt,) = kill_command.kill(tmp_path, None, "enough").doubts
    assert "Read-only file system" in doubt
    asked = kills.find_request("any run", [], 0.0)
    assert asked is not None
    assert asked.reason == "enough"


def test_an_unreadable_registry_is_reported_and_all_runs_get_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(home: Path) -> list[Running]:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(kill_command, "running", failing)
    found = kill_command.kill(tmp_path, None, "")
    assert found.lines == ()
    (doubt,) = found.doubts
    assert "cannot be read" in doubt
    assert kill_files.find_request(kill_files.folder_in(tmp_path), RUN, 0.0) is not None


@pytest.mark.desktop
@pytest.mark.parametrize("spoil", [full, pytest.param(read_only, marks=pytest.mark.long)])
def test_a_working_agent_is_stopped(cli: CommandLine, disk: Path, spoil: Callable[[Path], Path]) -> None:
    cli.env["HOLO_HOME"] = str(disk / "holo")
    inputs = Inputs(cli.home / "inputs")
    options = ("--app", shlex.join(witnessed(inputs.path)), "--allow", "act", "--audit", str(cli.home / "runs"))
    with ScriptedModel([step("write", content="Ab " * 2500)]) as model:
        command = cli.start("run", "Type.", *options, "--base-url", model.base_url, "--json")
        until(lambda: len(inputs.sent()) > 50)
        said = cli("kill", "--all", env={"HOLO_HOME": str(spoil(disk) / "holo")})
        ended = command.end()
    assert "stopped" in said.stdout
    assert said.code == (0 if spoil is full else 15)
    assert (ended.code, ended.told["status"]) == (13, "killed")
    assert len(inputs.sent()) < 5000
