"""Commands in tests are forked from a process with loaded modules; otherwise they behave like a user's commands."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forked, warm
from tests.support.command_line import CommandLine, until
from tests.support.long import few


def told_by_kernel(pid: int) -> dict[str, object]:
    """Return the kernel's data of a command from `/proc`, after its exec."""
    entry = Path("/proc", str(pid))
    until(lambda: b"doctor" in (entry / "cmdline").read_bytes())
    after_name = (entry / "stat").read_text().rpartition(")")[2].split()
    return {
        "arguments": (entry / "cmdline").read_bytes().split(b"\0")[1:],
        "environment": set((entry / "environ").read_bytes().rstrip(b"\0").split(b"\0")),
        "name": (entry / "comm").read_text(),
        "folder": (entry / "cwd").readlink(),
        "parent": after_name[1],
        "session": after_name[3] == str(pid),
        "streams": [(entry / "fd" / str(number)).readlink() for number in (0, 2)],
    }


@pytest.fixture
def nobody_answers() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


@pytest.mark.parametrize("own_session", [False, True])
def test_a_forked_command_has_the_process_attributes_of_a_started_one(
    cli: CommandLine, nobody_answers: socket.socket, own_session: bool
) -> None:
    seen = []
    for real in (False, True):
        url = f"http://127.0.0.1:{nobody_answers.getsockname()[1]}/v1"
        given = ("doctor", "--json", "--base-url", url, "--display", "")
        with (cli.home / "said").open("w") as said:
            running = cli.start(*given, stderr=said, real=real, start_new_session=own_session, env={"HOLO_X": "ä=1 "})
        seen.append(told_by_kernel(running.process.pid))
        assert seen[-1]["parent"] == str(os.getpid())
        running.process.send_signal(signal.SIGKILL)
        assert running.end().code == -signal.SIGKILL
    assert seen[0] == seen[1]
    assert "HOLO_X=ä=1 ".encode() in seen[0]["environment"]  # type: ignore[operator]


def test_a_command_is_forked_unless_it_must_be_real(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    was = forked.watch(monkeypatch)
    for options, count in ((), 1), (("real",), 1), ((), 2):
        running = cli.start("runs", **dict.fromkeys(options, True))
        assert running.end().code == 0
        assert len(was) == count


@pytest.mark.parametrize("line", few(["models", "run ''", "-h", "no", "runs --json", "retry I-1", "handoff list"], 3))
def test_a_forked_command_has_the_same_output_and_exit_code(cli: CommandLine, line: str) -> None:
    arguments = shlex.split(line)
    assert cli(*arguments) == cli(*arguments, real=True)


def test_a_command_with_python_settings_is_started_normally(cli: CommandLine) -> None:
    assert warm._alike(cli.env, warm.HARMLESS)
    for name in ("PYTHONSTARTUP", "PYTHONUTF8", "LC_ALL"):
        assert not warm._alike({**cli.env, name: "x"}, warm.HARMLESS)


def test_its_programs_get_the_commands_own_environment(cli: CommandLine) -> None:
    """Its programs do not inherit the environment of the forking process."""
    look = "import os, sys; print(sorted(os.environ), file=open(sys.argv[1], 'w'))"
    app = [sys.executable, "-c", look, str(cli.home / "env")]
    for real in (False, True):
        # `look` loads no Prefect, and starts programs as a run does.
        assert cli("look", "--app", subprocess.list2cmdline(app), real=real).code == 15
        (cli.home / "env").rename(cli.home / f"env-{real}")
    assert (cli.home / "env-True").read_text() == (cli.home / "env-False").read_text()


LOGGING = """
import prefect.main
from prefect.logging import configuration as it
assert it.PROCESS_LOGGING_CONFIG == {**it.load_logging_config(it.DEFAULT_LOGGING_SETTINGS_PATH), "incremental": False}
print(it.PROCESS_LOGGING_CONFIG["loggers"]["prefect"]["level"])
"""


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_prefect_logging_follows_the_commands_settings(level: str) -> None:
    """Logging is set up again in each forked process, more cheaply than by Prefect."""
    env = os.environ | {"PREFECT_LOGGING_LEVEL": level, "PREFECT_LOGGING_HANDLERS_CONSOLE_FORMATTER": "json"}
    said = warm.run_script([sys.executable, "-c", LOGGING], env=env)
    assert (said.stdout, said.stderr) == (f"{level}\n", "")


FINDS = """
import sys
from importlib.util import find_spec
from pathlib import Path
from holo_tasks.prefect_server.database import prepare
print([*find_spec("prefect").submodule_search_locations], "prefect" in sys.modules, prepare(Path(sys.argv[1])))
"""


def test_later_imports_find_installed_packages(tmp_path: Path) -> None:
    """Otherwise the installed version of Prefect would be unknown, and each server would create its own database."""
    command = [sys.executable, "-c", FINDS]
    begun = warm.run_script([*command, tmp_path / "one"])
    plain = subprocess.run([*command, tmp_path / "two"], capture_output=True, text=True, check=True)
    assert (begun.stdout, begun.stderr) == (plain.stdout, plain.stderr)
    assert plain.stdout.endswith(" False True\n")


BESIDE = """
import json, os, subprocess, sys
from tests.support import warm, warm_process
warm.in_tests = True
warm_process.have_others_forked({})
print(warm.beside.forks("host"), warm.beside.forks("script"), warm.beside.forks("command"))
said = warm.run_script([sys.executable, "-c", "import prefect; print(prefect.settings.PREFECT_HOME.value())"],
                       env={**os.environ, "PREFECT_HOME": "/nowhere/else"})
print(said.stdout)
"""


def test_after_the_import_of_prefect_only_hosts_are_forked() -> None:
    """A process forked from it would have Prefect with the wrong settings."""
    said = warm.run_script([sys.executable, "-c", f"import prefect\n{BESIDE}"])
    assert said.stdout.split() == ["True", "False", "False", "/nowhere/else"], said.stderr
