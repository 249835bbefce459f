"""Shows a screen to a person: a VNC server (TigerVNC's) that is reached through a private socket only."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.desktop import processes

PACKAGE = "tigervnc-scraping-server"
PROGRAMS = ("X0tigervnc", "x0vncserver")
"""Debian's name for the program itself, and its maker's. Debian's x0vncserver is a script around it."""
PATIENCE_S = 15.0
LONGEST_PATH = 107
"""Of a socket, in bytes."""


@dataclass(frozen=True)
class VncServer:
    """A running server, its socket and what it says."""

    process: subprocess.Popen[bytes]
    path: Path
    log: Path


def program() -> str:
    """Return the path of the VNC server; empty if it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), "")


def launch(folder: Path, env: Mapping[str, str]) -> VncServer:
    """Start a server on the display of an environment; `listening` waits for it."""
    command = program()
    if not command:
        raise DesktopFailed(f"A VNC server is not installed: run `apt-get install {PACKAGE}`.")
    name = secrets.token_hex(4)
    private = folder / f"vnc-{name}"
    private.mkdir(mode=0o700)
    path, log = private / "rfb", folder / f"vnc-{name}.log"
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise DesktopFailed(f"The path {path} is too long for a socket: set TMPDIR to a shorter one.")
    options = {
        "display": env["DISPLAY"],
        "rfbunixpath": path,
        "rfbunixmode": 0o600,
        "rfbport": -1,
        # Nobody else can open the socket.
        "SecurityTypes": "None",
        "desktop": "the agent's desktop",
        "AlwaysShared": 1,
        # Input goes through the gate, and by keys that mean the same on every keyboard (`guest`).
        "AcceptKeyEvents": 0,
        "AcceptPointerEvents": 0,
        "AcceptSetDesktopSize": 0,
        # The one user is on this machine, behind a bridge: nothing is gained by shutting the bridge out.
        "UseBlacklist": 0,
        "Log": "*:stderr:30",
    }
    with log.open("wb") as file:
        process = processes.start_tied(
            signal.SIGTERM,
            [command, *(f"-{option}={value}" for option, value in options.items())],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    return VncServer(process, path, log)


def listening(server: VncServer) -> None:
    """Wait until the server takes connections."""
    until = time.monotonic() + PATIENCE_S
    while not _listens(server.path):
        if server.process.poll() is not None or time.monotonic() >= until:
            words = processes.last_words(server.log) or "it says nothing"
            end(server)
            raise DesktopFailed(f"The VNC server does not start: {words}.")
        time.sleep(0.01)


def end(server: VncServer) -> None:
    """End a server."""
    server.process.terminate()
    try:
        server.process.wait(2.0)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()
    processes.remove(server.path.parent)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
