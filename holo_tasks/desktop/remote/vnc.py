"""Run a VNC server (TigerVNC) that shows a screen to a person. It listens on a private Unix socket only.

`launch` starts it and `await_server` waits for it; `x_session` uses both for live views.
"""

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
"""Names of the program in Debian and in TigerVNC. Debian's x0vncserver is a script that wraps it."""
PATIENCE_S = 15.0
LONGEST_PATH = 107
"""Longest path of a Unix socket, in bytes."""


@dataclass(frozen=True)
class VncServer:
    """A running VNC server with its socket and its log."""

    process: subprocess.Popen[bytes]
    path: Path
    log: Path


def program() -> str:
    """Return the path of the VNC server; empty if it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), "")


def launch(folder: Path, env: Mapping[str, str]) -> VncServer:
    """Start a server for the ``DISPLAY`` of ``env``; `await_server` waits for it.

    Raises `DesktopFailed` if it is not installed, or if the socket's path is too long.
    """
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
        # No other user can open the socket.
        "SecurityTypes": "None",
        "desktop": "the agent's desktop",
        "AlwaysShared": 1,
        # Input goes through the gate, by the symbols of the keys (`remote_input.Guest`).
        "AcceptKeyEvents": 0,
        "AcceptPointerEvents": 0,
        "AcceptSetDesktopSize": 0,
        # All viewers connect through a bridge on this machine. A blacklist would only lock out that bridge.
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


def await_server(server: VncServer) -> None:
    """Wait until the server accepts connections. Raises `DesktopFailed` if it ends or takes too long."""
    until = time.monotonic() + PATIENCE_S
    while not _listens(server.path):
        if server.process.poll() is not None or time.monotonic() >= until:
            words = processes.last_words(server.log) or "it says nothing"
            end(server)
            raise DesktopFailed(f"The VNC server does not start: {words}.")
        time.sleep(0.01)


def end(server: VncServer) -> None:
    """End a server, and remove the folder of its socket."""
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
