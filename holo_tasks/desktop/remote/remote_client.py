"""Build the command of the VNC or RDP client that shows a remote screen.

The command holds no secret: the password goes to the client's standard input. `ClientCommandBuilder` is the main class;
`remote_session` uses it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.screen.geometry import Size
from holo_tasks.core.screen.remote_screen import Rdp, Remote, Vnc
from holo_tasks.core.this_machine import is_loopback
from holo_tasks.desktop.remote.remote_certificate import NoEncryption, certificate_of, checked_fingerprint, pem

CLIENTS = {"vnc": ("xtigervncviewer", "tigervnc-viewer"), "rdp": ("xfreerdp", "freerdp2-x11")}
"""The client's program and Debian package, for each kind of remote screen."""
US_KEYBOARD = "0x00000409"
CERTIFICATE_UNCHECKED = (
    "The certificate of the remote screen at {place} was trusted without a check; its fingerprint is {digest}. Give it "
    "as fingerprint=, once you know that it is the right one."
)
NOT_ENCRYPTED = "The connection to the remote screen at {place} is not encrypted."
# VNC uses DES with the bits of each key byte reversed. Triple DES (FIPS 46-3) with one key three times is plain DES.
VNC_KEY = bytes(int(f"{byte:08b}"[::-1], 2) for byte in (23, 82, 107, 6, 35, 78, 88, 7))
VNC_CHARACTERS = 8


@dataclass(frozen=True)
class Client:
    """A client's command, and the bytes for its standard input, which no other process can see."""

    command: list[str]
    feed: bytes


def executable(remote: Remote) -> str:
    """Return the client's path. Raises `DesktopFailed` with the package to install if the client is missing."""
    name, package = CLIENTS[remote.kind]
    found = shutil.which(name)
    if found is None:
        raise DesktopFailed(
            f"A remote screen takes {name}, which is not installed: as root, run: apt-get install {package}"
        )
    return found


class ClientCommandBuilder:
    """The builder of the client's commands. It fetches the server's certificate once; all clients accept only that.

    ``tell`` gets warnings about an unchecked certificate or a missing encryption.
    """

    def __init__(self, remote: Remote, folder: Path, tell: Callable[[str], None]) -> None:
        self._remote = remote
        self._folder = folder
        self._tell = tell
        self._certificate: bytes | None = None
        self._plain = False

    def client(self, size: Size) -> Client:
        """Return the client's command for a screen of ``size``.

        Raises `DesktopFailed` if the server cannot be reached, shows another certificate or does not encrypt.
        """
        remote = self._remote
        if isinstance(remote, Rdp):
            return self._rdp(remote, size)
        return self._vnc(remote)

    def _digest(self) -> str:
        """Return the fingerprint of the server's certificate, which is fetched at the first call."""
        if self._certificate is None:
            certificate = certificate_of(self._remote)
            digest = checked_fingerprint(certificate, self._remote)
            if not self._remote.fingerprint:
                self._tell(CERTIFICATE_UNCHECKED.format(place=self._remote.place, digest=digest))
            self._certificate = certificate
        return checked_fingerprint(self._certificate, self._remote)

    def _write_certificate(self, remote: Vnc) -> Path | None:
        """Write the certificate that the client has to accept to a file, and return its path.

        Returns ``None`` if the client may connect without encryption.
        """
        if remote.encrypted and not self._plain:
            try:
                self._digest()
            except NoEncryption:
                if remote.fingerprint or not _is_this_machine(remote.host):
                    raise
        if self._certificate is None:
            if not self._plain and not _is_this_machine(remote.host):
                self._tell(NOT_ENCRYPTED.format(place=remote.place))
            self._plain = True
            return None
        known = self._folder / "server.pem"
        known.write_text(pem(self._certificate))
        return known

    def _rdp(self, remote: Rdp, size: Size) -> Client:
        host = f"[{remote.host}]" if ":" in remote.host else remote.host
        command = [
            executable(remote), f"/v:{host}", f"/port:{remote.port}", f"/u:{remote.user}", "/from-stdin:force",
            f"/cert:fingerprint:sha256:{_colons(self._digest())}", "/f", f"/size:{size.width}x{size.height}", "/bpp:32",
            f"/kbd:{US_KEYBOARD}", "-toggle-fullscreen", "-grab-keyboard", "-grab-mouse", "-decorations",
            "-clipboard", "-wallpaper", "-themes", "-menu-anims", "-home-drive",
            "-drives", "-auto-reconnect", "-sec-rdp", "/audio-mode:2",
        ]  # fmt: skip
        command += [f"/d:{remote.domain}"] if remote.domain else []
        return Client(command, (remote.secret.value if remote.secret else "").encode() + b"\n")

    def _vnc(self, remote: Vnc) -> Client:
        paste = "1" if remote.paste else "0"
        command = [
            executable(remote), "-FullScreen=1", "-FullScreenMode=Current", "-MenuKey=", "-FullscreenSystemKeys=0",
            "-RemoteResize=1", "-ReconnectOnError=0", "-AlertOnFatalError=0", "-DotWhenNoCursor=0", "-Shared=1",
            f"-SendClipboard={paste}", "-AcceptClipboard=0", "-SendPrimary=0", "-SetPrimary=0",
            # Lossless, so that equal parts of the remote screen have equal pixels in two pictures.
            "-AutoSelect=0", "-PreferredEncoding=ZRLE", "-FullColor=1", "-NoJPEG=1",
        ]  # fmt: skip
        if (known := self._write_certificate(remote)) is not None:
            command += [f"-X509CA={known}", "-SecurityTypes=X509Vnc,X509None"]
        else:
            command += ["-SecurityTypes=VncAuth,None"]
        feed = b""
        if remote.secret is not None:
            command += ["-PasswordFile=/dev/stdin"]
            feed = _password_file_bytes(remote.secret.value)
        host = f"[{remote.host}]" if ":" in remote.host else remote.host
        return Client([*command, f"{host}::{remote.port}"], feed)


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or is_loopback(host)


def _password_file_bytes(password: str) -> bytes:
    """Return a password in the format of VNC's password files. The format protects nothing: its key is public."""
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    try:
        plain = password.encode("latin-1")[:VNC_CHARACTERS].ljust(VNC_CHARACTERS, b"\0")
    except UnicodeEncodeError:
        raise InvalidUsage("A VNC server takes no password with characters outside of Latin-1.") from None
    cipher = Cipher(TripleDES(3 * VNC_KEY), modes.ECB()).encryptor()  # VNC's format, no protection
    return cipher.update(plain) + cipher.finalize()


def _colons(digest: str) -> str:
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
