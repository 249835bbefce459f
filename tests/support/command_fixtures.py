"""Fixtures for tests of the command line, runs and hand-offs: the command, a program, an X server without a window
manager.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import xcffib
from s3_server import S3Server
from xcffib.xproto import MapState

from holo_tasks.desktop import tk_python
from tests.support.command_line import CommandLine, InProcess, until

APPS = Path(__file__).parents[1] / "apps"


def command(program: str, *arguments: object) -> list[str]:
    """Return the command line of a test program."""
    return [tk_python(), str(APPS / f"probe_{program}.py"), *map(str, arguments)]


@pytest.fixture
def cli(tmp_path: Path, prefect_url: str) -> CommandLine:
    """`holo-tasks` with its own local state, on the test run's shared Prefect server."""
    return CommandLine(tmp_path, prefect_url)


@pytest.fixture
def here(tmp_path: Path, prefect_url: str) -> InProcess:
    """Like `cli`, but in this process: for commands that neither use Prefect nor depend on being a process."""
    return InProcess(tmp_path, prefect_url)


@pytest.fixture
def app(tmp_path: Path) -> str:
    """A program with one big button; it writes the number of its clicks to ``clicks``."""
    return shlex.join(command("counter", tmp_path / "clicks"))


@pytest.fixture
def x_server(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts X servers without a window manager, and programs on them. Waits for the program's window unless ``shows``
    is false.
    """
    with x_servers(tmp_path) as start:
        yield start


@contextmanager
def x_servers(folder: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Yield the function of the `x_server` fixture for any scope. The programs' output goes to files in the folder."""
    started: list[subprocess.Popen[bytes]] = []

    def start(display: str, *program: str, shows: bool = True, depth: str = "24") -> subprocess.Popen[bytes]:
        server = subprocess.Popen(
            # Without -noreset the server would restart when its last client leaves, and disconnect the next one.
            ["Xvfb", display, "-screen", "0", f"800x600x{depth}", "-nolisten", "tcp", "-extension", "GLX", "-noreset"],
            stderr=subprocess.DEVNULL,
        )
        started.append(server)
        until(Path(f"/tmp/.X11-unix/X{display[1:]}").exists)
        if program:
            log = (folder / "program.log").open("wb")
            started.append(subprocess.Popen(program, env={**os.environ, "DISPLAY": display}, stderr=log))
            if shows:
                until(lambda: _shows_a_window(display))
        return server

    yield start
    for process in reversed(started):
        process.kill()
        process.wait()


def _shows_a_window(display: str) -> bool:
    link = xcffib.connect(display)
    try:
        tree = link.core.QueryTree(link.get_setup().roots[0].root).reply()
        shown = (link.core.GetWindowAttributes(window).reply().map_state for window in tree.children)
        return MapState.Viewable in shown
    except xcffib.Error:  # a window was closed meanwhile
        return False
    finally:
        link.disconnect()


@pytest.fixture
def display() -> str:
    """A display number that no X server uses yet."""
    return free_display()


def free_display() -> str:
    """Return a display that no X server uses yet."""
    return next(f":{n}" for n in range(random.randrange(3000, 8000), 9000) if not Path(f"/tmp/.X11-unix/X{n}").exists())


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server with one bucket, for the tests of a module."""
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system that fills up quickly."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)
