"""The script of an interpreter is parsed from its command line if that is unambiguous."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holo_tasks.core.programs import may_run, runs
from holo_tasks.desktop.programs import interpreter_scripts
from holo_tasks.desktop.programs import window_owners as owners
from holo_tasks.desktop.programs.interpreter_scripts import HARMLESS, StartedProgram, _first_argument

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(SLEEP)
    (tmp_path / "link.py").symlink_to("app.py")
    (tmp_path / "app.sh").write_text("sleep 60; true")
    (tmp_path / "app.js").write_text("setTimeout(() => {}, 60000)")
    (tmp_path / "app.pl").write_text("sleep 60")
    started = tmp_path / "started.py"
    started.write_text(f"#!/usr/bin/env {Path(sys.executable).name}\n{SLEEP}")
    started.chmod(0o755)
    return tmp_path


@pytest.fixture
def running() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes, and waits until they execute the given command."""
    started: list[subprocess.Popen[bytes]] = []

    def start(command: list[str], shown: list[str] | None = None, **options: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
        started.append(process)
        told = b"".join(os.fsencode(word) + b"\0" for word in shown or command)
        until = time.monotonic() + 60
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT  # it may end at once, for example because of an unknown option
        while Path(f"/proc/{process.pid}/cmdline").read_bytes() != told and time.monotonic() < until:
            if os.waitid(os.P_PID, process.pid, ended) is not None:
                break
            time.sleep(0.005)  # until then the fork still runs our code
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_script_of_an_interpreter(folder, running):
    whole = str(folder / "app.py")
    cases = [
        ([sys.executable, whole, "--flag"], whole),
        ([sys.executable, "-u", "-IB", "-X", "utf8", whole, "x.py"], whole),
        ([sys.executable, str(folder / "link.py")], whole),
        ([sys.executable, "-c", SLEEP, whole], ""),
        ([sys.executable, "-m", "timeit", "-s", SLEEP, whole], ""),
        (["sleep", "60"], ""),
        (["bash", str(folder / "app.sh")], str(folder / "app.sh")),
        (["bash", "-eu", str(folder / "app.sh")], str(folder / "app.sh")),
        (["bash", "-c", "sleep 60; true", whole], ""),
        (["perl", "-w", str(folder / "app.pl")], str(folder / "app.pl")),
        (["node", str(folder / "app.js")], str(folder / "app.js")),
    ]
    for command, script in cases:
        assert owners._program(running(command).pid).script == script, command


def test_a_script_cannot_be_faked_by_arguments_and_folders(folder, running):
    """The running script is evil; the script that it imitates is in another folder."""
    evil = folder / "evil"
    evil.mkdir()
    (evil / "app.py").write_text(f"import os; os.chdir({str(folder)!r}); print(1, flush=True); {SLEEP}")
    (evil / "evil.js").write_text("setTimeout(() => {}, 60000)")
    (evil / "evil.sh").write_text("sleep 60; true")
    (evil / "evil.pl").write_text("sleep 60")
    (evil / "evil.py").write_text(SLEEP)
    good = {kind: str(folder / f"app.{kind}") for kind in ("py", "js", "sh", "pl")}
    cases = [
        [sys.executable, "app.py"],
        ["node", "--require", good["js"], "evil.js"],
        ["node", "-r", good["js"], str(evil / "evil.js")],
        ["bash", "--rcfile", good["sh"], "evil.sh"],
        ["bash", "--init-file", good["sh"], str(evil / "evil.sh")],
        ["bash", "-O", good["sh"], "evil.sh"],
        ["perl", "-I", good["pl"], "evil.pl"],
        [sys.executable, "-W", good["py"], "evil.py"],
        [sys.executable, "-X", good["py"], str(evil / "evil.py")],
        [sys.executable, "-X", "pycache_prefix=/tmp", good["py"]],
    ]
    for command in cases:
        process = running(command, cwd=str(evil), stdout=subprocess.PIPE if "app.py" in command else None)
        if process.stdout:
            assert process.stdout.readline() == b"1\n"
            assert Path(f"/proc/{process.pid}/cwd").readlink() == folder
            process.stdout.close()
        found = owners._program(process.pid)
        assert found.script == "", command
        assert not any(runs(found, (wanted, Path(wanted).name)) for wanted in good.values()), command
        # For a denied script, an ambiguous command counts as a match.
        assert any(may_run(found, (wanted,)) for wanted in good.values()), command


def test_a_relative_path_is_resolved_for_a_program_that_we_started(folder, running):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "app.py").write_text(SLEEP)
    (folder / "moves.py").write_text(f"import os; os.chdir({str(elsewhere)!r}); {SLEEP}")
    python = Path(sys.executable).name
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    cases = [
        ([sys.executable, "app.py"], None, "app.py"),
        ([sys.executable, "moves.py"], None, "moves.py"),
        (["env", "A=b", sys.executable, "./app.py"], [sys.executable, "./app.py"], "app.py"),
        (["./started.py"], [python, "./started.py"], "started.py"),
        (["sh", "-c", f"exec {sys.executable} app.py"], [sys.executable, "app.py"], ""),
    ]
    for command, shown, script in cases:
        process = running(command, shown, env=env)
        found = owners._program(process.pid, StartedProgram(process, command, folder)).script
        assert found == (str(folder / script) if script else ""), command
        other = running([sys.executable, "app.py"])
        assert owners._program(other.pid, StartedProgram(process, command, folder)).script == "", "somebody else's"


def test_a_reused_process_id_does_not_belong_to_the_old_process(tmp_path: Path) -> None:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    started = StartedProgram(process, ["cat"], tmp_path)
    assert started.has_id(process.pid)
    assert not started.has_id(process.pid + 1)
    process.communicate()
    assert not started.has_id(process.pid)


@pytest.mark.parametrize(
    ("interpreter", "words", "first"),
    [
        ("python", ["-Bu", "a.py"], "a.py"),
        ("python", ["-Bcprint", "a.py"], "-Bcprint"),
        ("python", ["-X", "dev", "a.py"], "a.py"),
        ("python", ["-X", "importtime", "a.py"], "-X"),
        ("python", ["-X"], "-X"),
        ("perl", ["-wMevil", "a.pl"], "-wMevil"),
        ("bash", ["-X", "dev", "a.sh"], "-X"),
        ("lua", ["-i", "a.lua"], "-i"),
        ("java", ["-jar", "a.jar"], "a.jar"),
        ("bash", ["-eu"], ""),
    ],
)
def test_the_first_word_is_a_file_only_after_options_without_a_value(
    interpreter: str, words: list[str], first: str
) -> None:
    assert _first_argument(words, HARMLESS.get(interpreter)) == first


def test_code_without_a_file_has_no_script(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["-c", "import sys", "/srv/ledger.py"]
    monkeypatch.setattr(interpreter_scripts, "_words", lambda pid: words)
    assert interpreter_scripts.script(1, Path("/usr/bin/python3"), None) == ("", ())
    words[0] = "-W"
    assert interpreter_scripts.script(1, Path("/usr/bin/python3"), None) == ("", ("import sys", "ledger.py"))
    words[:] = ["/srv/no such file.py", "ledger.py"]
    assert interpreter_scripts.script(1, Path("/usr/bin/python3"), None) == ("", ("no such file.py", "ledger.py"))
    assert interpreter_scripts.script(1, Path("/usr/bin/python3-config"), None) == ("", ())
