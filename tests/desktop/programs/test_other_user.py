"""A program run as another user is driven like any other, and cannot read the agent's data."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from holo_tasks.audit.keys import signing_key
from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from holo_tasks.desktop.programs import other_user
from holo_tasks.safety.database.store import store_at

UID = 65534
VALUE = "Kranich-9"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="to start a program as another user takes root")
TRIES = """
id -u; id -g; pwd
for file in "$@"; do
  if head -c 1 "$file" > /dev/null 2>&1; then echo "READ $file"; fi
  if [ -f "$file" ] && (: >> "$file") 2> /dev/null; then echo "WROTE $file"; fi
done
env
"""


@pytest.fixture
def shared():
    """A folder that all users can write."""
    folder = Path(tempfile.mkdtemp(prefix="holo-shared-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@needs_root
async def test_a_program_of_another_user_reads_no_agent_data(shared, until, tmp_path, monkeypatch):
    home = tmp_path / "holo"
    monkeypatch.setenv("HOLO_HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    signing_key(home, {})
    with store_at(home).transaction():
        pass
    secret = {"pw": VALUE, "bound": Secret("bound", VALUE, "xterm")}
    script = shared / "tries.sh"
    script.write_text(TRIES)
    wait = f"echo > {shared}/waits; head -n 1 > {shared}/typed; sleep 1000"
    look = f"until [ -e {shared}/files ]; do sleep 0.1; done; xargs sh {script} < {shared}/files > {shared}/tried 2>&1"
    app = ["sh", "-c", f"setsid sleep 1000 & ({look}; echo > {shared}/done) & exec xterm -e sh -c '{wait}'"]
    async with VirtualDesktop(app=app, secrets=secret, run_as=str(UID)) as desktop:
        folder = desktop.authority.parent
        files = [home / "keys" / "signing.pem", home / "holo.db", desktop.authority, folder / "host.log"]
        files += [Path(f"/proc/{pid}/{what}") for pid in (os.getpid(), desktop.pid) for what in ("environ", "mem")]
        files += [Path(f"/proc/{desktop.pid}/fd/{each.name}") for each in Path(f"/proc/{desktop.pid}/fd").iterdir()]
        assert all(file.exists() for file in files[:4]), "otherwise the test would prove nothing"
        (shared / "list").write_text("\n".join(map(str, files)))
        (shared / "list").rename(shared / "files")
        assert await until((shared / "done").exists)
        tried = (shared / "tried").read_text().splitlines()
        assert tried[:2] == [str(UID), str(UID)]
        assert [line for line in tried if line.startswith(("READ", "WROTE"))] == []
        env = dict(line.partition("=")[::2] for line in tried[2:])
        assert not any(
            str(place) in text for place in (home, folder) for text in env.values() if "-program" not in text
        )
        assert env["XDG_RUNTIME_DIR"] == str(other_user.folder_for(folder))

        # The window's process is identified, and it receives its secret.
        assert await until((shared / "waits").exists)
        at = (await desktop.windows())[0].box.center
        assert (await desktop.owner_at(at)).executable == str(Path(shutil.which("xterm")).resolve())
        await desktop.do(Click(at))
        await desktop.do(Write("{{secret:pw}}-{{secret:bound}}", press_enter=True))
        assert await until(lambda: (shared / "typed").exists() and (shared / "typed").read_text())
        assert (shared / "typed").read_text() == f"{VALUE}-{VALUE}\n"
        assert (shared / "typed").stat().st_uid == UID
    assert not other_user.folder_for(folder).exists()
    assert await until(lambda: f"HOLO_DESKTOP={folder.name}" not in everybodys_environment())


def everybodys_environment() -> str:
    found = subprocess.run("cat /proc/[0-9]*/environ", shell=True, capture_output=True)
    return found.stdout.decode(errors="replace")


@needs_root
async def test_a_program_of_another_user_gets_its_own_folders(shared, until, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # the other user cannot enter it
    nobody = pwd.getpwuid(UID)
    app = ["sh", "-c", f"(pwd; id -un; touch $HOME/x $XDG_RUNTIME_DIR/y && echo made; env) > {shared}/told; exit 3"]
    with pytest.raises(DesktopFailed, match="status 3"):
        await VirtualDesktop.start(app=app, run_as=nobody.pw_name, env={"XDG_CACHE_HOME": "/mine"})
    told = (shared / "told").read_text().splitlines()
    assert told[0] in ("/", nobody.pw_dir)
    assert told[1:3] == [nobody.pw_name, "made"]
    assert "XDG_CACHE_HOME=/mine" in told


@needs_root
async def test_a_program_of_another_user_works_on_a_borrowed_display(x_server):
    display, authority = x_server("Xvfb", "-screen", "0", "640x480x24")
    env = {"XAUTHORITY": str(authority)}
    async with AttachedDesktop(display, app="xterm -e sleep 1000", env=env, run_as=str(UID)) as desktop:
        pid = (await desktop.owner_at(Point(50, 50))).pid
        assert Path(f"/proc/{pid}").stat().st_uid == UID or f"Uid:\t{UID}" in Path(f"/proc/{pid}/status").read_text()


@needs_root
@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("no-such-user", "There is no user"),
        ("99999999999", "There is no user"),
        ("root", "can read the agent's files"),
    ],
)
def test_a_user_without_separation_from_the_agent_is_refused(user, said):
    with pytest.raises(InvalidUsage, match=said):
        VirtualDesktop(app="xterm", run_as=user)


def test_run_as_without_a_program_or_privileges_is_refused_before_the_start(monkeypatch):
    with pytest.raises(InvalidUsage, match="starts none"):
        VirtualDesktop(run_as=str(UID))
    monkeypatch.setattr(other_user, "_capability_bits", lambda: 1 << other_user.SETUID)
    with pytest.raises(InvalidUsage, match="needs root, or the rights CAP_CHOWN, CAP_KILL, CAP_SETGID"):
        VirtualDesktop(app="xterm", run_as=str(UID))


@needs_root
async def test_a_program_that_the_user_may_not_execute_is_reported(tmp_path):
    program = tmp_path / "closed"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    with pytest.raises(DesktopFailed, match=f"cannot be started as {pwd.getpwuid(UID).pw_name}: Permission denied"):
        await VirtualDesktop.start(app=[str(program)], run_as=str(UID))
