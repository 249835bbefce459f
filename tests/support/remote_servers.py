"""Screens reached by VNC and RDP on real servers: TigerVNC, and xrdp in front of an Xorg with xorgxrdp."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop.remote.remote_client import _password_file_bytes

SIZE = Size(1000, 700)
PASSWORD = "Geheim42"
PATIENCE_S = 30.0
CHANSRV = Path("/run/xrdp/sockdir")
XRDP = """[Globals]
ini_version=1
fork=false
port=tcp://127.0.0.1:{port}
security_layer=tls
crypt_level=high
certificate={certificate}
key_file={key}
ssl_protocols=TLSv1.2, TLSv1.3
autorun=Here
allow_channels=true
max_bpp=32
new_cursors=true
use_fastpath=both
[Logging]
LogFile={log}
LogLevel=INFO
EnableSyslog=false
[Channels]
rdpdr=false
rdpsnd=false
drdynvc=false
cliprdr=true
rail=false
[Here]
name=Here
lib={module}
username=ask
password=ask
ip=127.0.0.1
port={screen}
{chansrv}
code=20
"""


class Server:
    """A screen on this machine that is a remote screen for clients of ``port``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.display = ""
        self.port = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        self.door: subprocess.Popen[bytes] | None = None
        """What takes connections."""

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of the programs on that screen."""
        home = {"HOME": str(self.folder), "XRDP_SOCKET_PATH": str(self.folder / "s")}
        return {"PATH": os.environ["PATH"], "NO_AT_BRIDGE": "1", "DISPLAY": self.display, **home}

    def run(self, *command: str | Path, **more: str) -> subprocess.Popen[bytes]:
        """Start a program on that screen."""
        with (self.folder / "log").open("ab") as log:
            started = subprocess.Popen(
                [*map(str, command)], env=self.env | more, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.processes.append(started)
        return started

    def shut(self) -> None:
        """Refuse new connections and cut off the open ones."""
        assert self.door is not None
        self.door.kill()
        self.door.wait()

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def certificate(folder: Path, name: str = "localhost") -> tuple[Path, Path, str]:
    """Make a certificate for a host; return its file, its key file and its fingerprint."""
    key, made = folder / "key.pem", folder / "certificate.pem"
    names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    make = ["openssl", "req", "-x509", *curve, "-keyout", key, "-out", made, "-days", "2", *names]
    subprocess.run(make, check=True, capture_output=True)
    asked = ["openssl", "x509", "-in", made, "-noout", "-fingerprint", "-sha256"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return made, key, told.strip().partition("=")[2]


class VncServer(Server):
    """TigerVNC's X server. ``secured`` holds the files of a certificate and its key."""

    secured: tuple[Path, Path] | None = None
    takes_no_text = False

    def open(self) -> None:
        self.port = self.port or free_port()
        number = self.display or f":{free_display()}"
        (self.folder / "password").write_bytes(_password_file_bytes(PASSWORD))
        types = ["-SecurityTypes", "VncAuth"]
        if self.secured is not None:
            types = ["-SecurityTypes", "X509Vnc", "-X509Cert", str(self.secured[0]), "-X509Key", str(self.secured[1])]
        self.display = number
        types += ["-AcceptCutText=0"] if self.takes_no_text else []
        self.door = self.run(
            "Xtigervnc", number, "-geometry", str(SIZE), "-depth", "24", *types, "-PasswordFile",
            self.folder / "password", "-localhost", "-rfbport", str(self.port), "-nolisten", "tcp",
        )  # fmt: skip
        await_port(self.port)


class RdpServer(Server):
    """An Xorg with xorgxrdp's drivers, with xrdp in front."""

    def open(self) -> None:
        if not self.display:
            self._open_screen()
        self.port = self.port or free_port()
        made, key, _ = certificate(self.folder) if not (self.folder / "key.pem").exists() else self._known()
        number = self.display.removeprefix(":")
        self._write(made, key, "libxup.so", str(self.folder / "s" / f"xrdp_display_{number}"), f"DISPLAY({number})")
        self.door = self.run("xrdp", "--nodaemon", "--config", self.folder / "xrdp.ini")
        await_port(self.port)

    def close(self) -> None:
        super().close()
        for left in CHANSRV.glob(f"xrdp_chansrv*_socket_{self.display.removeprefix(':')}"):
            left.unlink()

    def _known(self) -> tuple[Path, Path, str]:
        return self.folder / "certificate.pem", self.folder / "key.pem", ""

    def _open_screen(self) -> None:
        (self.folder / "s").mkdir()
        self.display = f":{free_display()}"
        number = self.display.removeprefix(":")
        size = {"XRDP_START_WIDTH": str(SIZE.width), "XRDP_START_HEIGHT": str(SIZE.height)}
        logs = ["-logfile", self.folder / "Xorg.log"]
        self.run("Xorg", self.display, "-config", "xrdp/xorg.conf", "-noreset", "-nolisten", "tcp", *logs, **size)
        await_path(self.folder / "s" / f"xrdp_display_{number}")
        CHANSRV.mkdir(parents=True, exist_ok=True)  # xrdp-chansrv accepts no other folder
        self.run("xrdp-chansrv", CHANSRV_LOG_PATH=str(self.folder))
        await_path(CHANSRV / f"xrdp_chansrv_socket_{number}")

    def _write(self, made: Path, key: Path, module: str, screen: str, chansrv: str) -> None:
        values: Mapping[str, object] = {
            "port": self.port,
            "certificate": made,
            "key": key,
            "log": self.folder / "xrdp.log",
            "module": module,
            "screen": screen,
            "chansrv": f"chansrvport={chansrv}" if chansrv else "",
        }
        (self.folder / "xrdp.ini").write_text(XRDP.format_map(values))


class RdpBeforeVnc(RdpServer):
    """xrdp in front of a VNC server, which checks the password."""

    behind: VncServer

    def _open_screen(self) -> None:
        self.behind = VncServer(self.folder)
        self.behind.open()
        self.display = self.behind.display
        self.processes += self.behind.processes

    def _write(self, made: Path, key: Path, module: str, screen: str, chansrv: str) -> None:
        super()._write(made, key, "libvnc.so", str(self.behind.port), "")


@contextmanager
def serving(kind: type[Server], **options: object) -> Iterator[Server]:
    """Start a server of this kind. Keys go to the program under the pointer."""
    folder = Path(tempfile.mkdtemp(prefix="far-"))  # a short path for the sockets in it
    server = kind(folder)
    for name, value in options.items():
        setattr(server, name, value)
    try:
        server.open()  # type: ignore[attr-defined]
        await_path(Path(f"/tmp/.X11-unix/X{server.display.removeprefix(':')}"))
        yield server
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def free_display() -> int:
    start = 1000 + os.getpid() % 5000
    return next(n for n in range(start, start + 500) if not Path(f"/tmp/.X11-unix/X{n}").exists())


def await_port(port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < until, "the server does not listen"
        time.sleep(0.02)


def await_path(path: Path) -> None:
    await_true(path.exists, f"{path} does not come")


def await_true(true: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < until, what
        time.sleep(0.02)
