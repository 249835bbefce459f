"""Start a private X server without a monitor (Xvfb).

`launch` starts it and `await_server` waits for it; `x_session` calls both.
"""

from __future__ import annotations

import os
import random
import select
import signal
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import processes
from holo_tasks.desktop.x11 import xauth

FIRST, LAST = 100, 9999
TRIES = 20


@dataclass(frozen=True, slots=True)
class XServer:
    """A running server: its display (":101"), its process, its Xauthority file and its log."""

    display: str
    process: subprocess.Popen[bytes]
    authority: Path
    log: Path


@dataclass(frozen=True, slots=True)
class StartingServer:
    """A started server that does not yet listen. ``ready`` is the pipe on which it reports that."""

    number: int
    process: subprocess.Popen[bytes]
    ready: int
    opengl: bool
    shares_memory: bool


def launch(folder: Path, size: Size, *, opengl: bool = True, shares_memory: bool = True) -> StartingServer:
    """Start a server on a free display number; `await_server` waits for it.

    ``shares_memory`` turns on MIT-SHM. With it, clients name shared memory by a number, and the server attaches any
    memory of this machine, whoever owns it. So it must be off for a sandboxed program.
    """
    number = _free_number()
    authority = folder / "Xauthority"
    xauth.write(authority, number, xauth.fresh())
    ready, tell = os.pipe()
    command = [
        "Xvfb",
        f":{number}",
        *("-displayfd", str(tell)),
        *("-screen", "0", f"{size.width}x{size.height}x24"),
        *("-auth", str(authority)),
        *("-dpi", "96"),
        # No auto-repeat: a delay of this process must not repeat a typed key.
        "-r",
        "-noreset",
        *("-nolisten", "tcp"),
        *(() if opengl else ("-extension", "GLX")),
        *(() if shares_memory else ("-extension", "MIT-SHM")),
    ]
    try:
        with (folder / "xserver.log").open("wb") as log:
            # SIGTERM, not SIGKILL: the server then removes its socket and lock.
            process = processes.start_tied(
                signal.SIGTERM, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(tell,)
            )
    except FileNotFoundError:
        os.close(ready)
        raise DesktopFailed("Xvfb is not installed: run `apt-get install xvfb` to get virtual desktops.") from None
    finally:
        os.close(tell)
    return StartingServer(number, process, ready, opengl, shares_memory)


def await_server(starting: StartingServer, folder: Path, size: Size, timeout_s: float = 20.0) -> XServer:
    """Wait until the server accepts connections. If its number was taken meanwhile, start another one.

    Raises `DesktopFailed` if no server starts within ``timeout_s`` seconds or ``TRIES`` attempts.
    """
    log = folder / "xserver.log"
    for _ in range(TRIES):
        said, readable = _await_line(starting.ready, timeout_s)
        if said:
            return XServer(f":{starting.number}", starting.process, folder / "Xauthority", log)
        starting.process.kill()
        starting.process.wait()
        if not readable:
            raise DesktopFailed(f"Xvfb did not start within {timeout_s:g} s: is the machine overloaded?")
        if "already" not in (words := log.read_text(errors="replace")) and "socket" not in words:
            break
        starting = launch(folder, size, opengl=starting.opengl, shares_memory=starting.shares_memory)
    raise DesktopFailed(f"Xvfb does not start: {processes.last_words(log) or 'it says nothing'}.")


def remove_socket(display: str) -> None:
    """Remove the socket of a killed server. A socket on which a server listens stays."""
    path = Path(f"/tmp/.X11-unix/X{display.removeprefix(':')}")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            pass  # it is gone


def _await_line(pipe: int, timeout_s: float) -> tuple[bytes, bool]:
    """Read the line by which the server reports that it listens; the flag is false after a timeout.

    It reads up to the line's end: the server writes the number and the end in two writes, and dies if the pipe is
    closed between them.
    """
    said = b""
    try:
        while not said.endswith(b"\n"):
            if not select.select([pipe], [], [], timeout_s)[0]:
                return b"", False
            if not (some := os.read(pipe, 32)):
                return b"", True
            said += some
    finally:
        os.close(pipe)
    return said, True


def _free_number() -> int:
    """Choose an unused display number.

    Xvfb with `-displayfd` alone takes the lowest socket that it can bind. In a container that shares /tmp/.X11-unix
    with its host, that may be the person's own :0.
    """
    start = random.randrange(FIRST, 1000)
    number: int
    for number in (*range(start, LAST), *range(FIRST, start)):
        if not Path(f"/tmp/.X{number}-lock").exists() and not Path(f"/tmp/.X11-unix/X{number}").exists():
            return number
    raise DesktopFailed(f"All displays from :{FIRST} to :{LAST} are in use: end some desktops first.")
