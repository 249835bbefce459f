"""Fetch and check the certificate of a remote screen's server, before the client connects to it.

The client then accepts only this certificate, so the check here holds for its connection too. `remote_client` uses
`certificate_of` and `checked_fingerprint`.
"""

from __future__ import annotations

import hashlib
import socket
import ssl
import struct

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.remote_screen import Remote

PATIENCE_S = 10.0
VENCRYPT, X509_NONE, X509_VNC = 19, 260, 261
RFB = b"RFB 003.008\n"
MOST_TYPES = 255
SSL_ASKED, NLA_ASKED = 1, 2
NEGOTIATION = struct.Struct("<BBHI")


class NoEncryption(DesktopFailed):
    """The server does not encrypt, or not in a way that can be checked."""


def certificate_of(remote: Remote) -> bytes:
    """Return the server's certificate (DER), without a check of who issued it.

    Raises `NoEncryption` if the server offers no certificate, and `DesktopFailed` if it cannot be reached.
    """
    try:
        with socket.create_connection((remote.host, remote.port), PATIENCE_S) as link:
            link.settimeout(PATIENCE_S)
            (_ask_vnc if remote.kind == "vnc" else _ask_rdp)(link, remote.place)
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is only fetched here
            with context.wrap_socket(link, server_hostname=remote.host) as secured:
                found = secured.getpeercert(binary_form=True)
    except (OSError, EOFError, ValueError) as error:
        why = str(error) or type(error).__name__
        raise DesktopFailed(f"The remote screen at {remote.place} cannot be reached: {why}.") from None
    if not found:
        raise NoEncryption(f"The server at {remote.place} shows no certificate.")
    return found


def checked_fingerprint(certificate: bytes, remote: Remote) -> str:
    """Return the SHA-256 fingerprint of a certificate; raise `DesktopFailed` if it differs from the expected one."""
    digest = hashlib.sha256(certificate).hexdigest()
    if remote.fingerprint and digest != remote.fingerprint:
        raise DesktopFailed(
            f"The server at {remote.place} shows a certificate with the fingerprint {digest}, but "
            f"{remote.fingerprint} is expected: it was renewed, or another server answers there. Nothing was sent."
        )
    return digest


def pem(certificate: bytes) -> str:
    """Return a certificate in PEM format."""
    return ssl.DER_cert_to_PEM_cert(certificate)


def _ask_vnc(link: socket.socket, place: str) -> None:
    """Negotiate RFB up to the start of TLS (VeNCrypt 0.2, with a certificate).

    Raises `NoEncryption` if the server does not offer that.
    """
    if not _exactly(link, len(RFB)).startswith(b"RFB 003.00"):
        raise NoEncryption(f"The server at {place} is not a VNC server.")
    link.sendall(RFB)
    count = _exactly(link, 1)[0]
    if not count:
        length = int(struct.unpack(">I", _exactly(link, 4))[0])
        why = _exactly(link, min(length, 1000)).decode(errors="replace")
        raise DesktopFailed(f"The VNC server at {place} refuses connections: {why!r}.")
    no = NoEncryption(
        f"The VNC server at {place} does not encrypt with a certificate (VeNCrypt, X509): others on the network could "
        "read the screen and the keys. Set that up there, use a tunnel to this machine, or allow it by encrypted=False."
    )
    if VENCRYPT not in _exactly(link, count):
        raise no
    link.sendall(bytes([VENCRYPT]))
    _exactly(link, 2)
    link.sendall(b"\0\2")
    if _exactly(link, 1) != b"\0":
        raise no
    offered = _exactly(link, 4 * _exactly(link, 1)[0])
    kinds = [int(kind) for (kind,) in struct.iter_unpack(">I", offered)]
    wanted = next((kind for kind in (X509_VNC, X509_NONE) if kind in kinds), None)
    if wanted is None:
        raise no
    link.sendall(struct.pack(">I", wanted))
    if _exactly(link, 1) != b"\1":
        raise no


def _ask_rdp(link: socket.socket, place: str) -> None:
    """Request TLS (X.224 connection request with RDP_NEG_REQ, [MS-RDPBCGR] 2.2.1.1).

    Raises `NoEncryption` if the server does not agree.
    """
    asked = NEGOTIATION.pack(1, 0, NEGOTIATION.size, SSL_ASKED | NLA_ASKED)
    x224 = bytes([6 + len(asked), 0xE0, 0, 0, 0, 0, 0]) + asked
    link.sendall(struct.pack(">BBH", 3, 0, 4 + len(x224)) + x224)
    version, _, length = struct.unpack(">BBH", _exactly(link, 4))
    answer = _exactly(link, max(0, min(length, 512) - 4)) if version == 3 else b""
    kind, _, _, chosen = NEGOTIATION.unpack(answer[-NEGOTIATION.size :]) if len(answer) >= 15 else (0, 0, 0, 0)
    if kind != 2 or not chosen & (SSL_ASKED | NLA_ASKED):
        raise NoEncryption(
            f"The server at {place} does not encrypt with TLS or NLA, as RDP does: set that up there. Nothing was sent."
        )


def _exactly(link: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        some = link.recv(count - len(found))
        if not some:
            raise EOFError("it hung up")
        found += some
    return found
