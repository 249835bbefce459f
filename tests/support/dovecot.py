"""A real Dovecot with one account, for tests that read mail over IMAP."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from receipts_mailbox import write_maildir

from holo_tasks.office.mailbox import ImapAccount

ACCENTED = b"Message-ID: <1@a.example>\r\nDate: Mon, 5 Oct 2026 10:00:00 +0200\r\n\r\nBonjour"
PASSWORD = 'pä ss"word\\'


def mail_server() -> Iterator[Callable[..., ImapAccount]]:
    """Serve a mailbox over IMAP. Yield a function that makes an account; its Maildir path is in ``home``."""
    server = shutil.which("dovecot") or "/usr/sbin/dovecot"
    if not Path(server).exists() and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-qq", "dovecot-imapd"], capture_output=True, check=False)
    if not Path(server).exists():
        pytest.fail("These tests need the Debian package dovecot-imapd: run apt-get install dovecot-imapd.")
    base = Path("/tmp") / f"dovecot-{os.getpid()}"  # Dovecot's sockets need a short path.
    shutil.rmtree(base, ignore_errors=True)
    mail = base / "home" / "Maildir"
    write_maildir(mail)
    for sub in ("cur", "new", "tmp"):
        (mail / ".R&AOk-cus" / sub).mkdir(parents=True)
    (mail / ".R&AOk-cus" / "new" / "1").write_bytes(ACCENTED)
    ports = [free_port(), free_port()]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", base / "key.pem", "-out", base / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    user = os.environ.get("USER", "nobody") if os.geteuid() else "nobody"
    (base / "users").write_text(
        f"anna:{{PLAIN}}{PASSWORD}:{os.geteuid() or 65534}:{os.getegid() or 65534}::{base}/home\n"
    )
    (base / "dovecot.conf").write_text(f"""
base_dir = {base}/run
state_dir = {base}/state
log_path = {base}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {"nogroup" if os.geteuid() == 0 else os.getegid()}
disable_plaintext_auth = no
auth_failure_delay = 0
ssl = yes
ssl_cert = <{base}/cert.pem
ssl_key = <{base}/key.pem
auth_mechanisms = plain login
mail_location = maildir:{base}/home/Maildir
passdb {{
  driver = passwd-file
  args = scheme=PLAIN username_format=%u {base}/users
}}
userdb {{
  driver = passwd-file
  args = username_format=%u {base}/users
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {ports[0]}
  }}
  inet_listener imaps {{
    port = {ports[1]}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
""")
    if os.geteuid() == 0:
        for one in [base / "home", *(base / "home").rglob("*")]:
            os.chown(one, 65534, 65534)
    process = subprocess.Popen(
        [server, "-F", "-c", base / "dovecot.conf"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        wait_for(ports[0], process, base / "log")

        def account(security: str = "tls", **more: object) -> ImapAccount:
            trusted = ssl.create_default_context(cafile=base / "cert.pem")
            given = {
                "host": "localhost",
                "user": "anna",
                "password": SecretStr(PASSWORD),
                "tls": trusted,
                "timeout_s": 5,
            }
            return ImapAccount(security=security, **{**given, "port": ports[security == "tls"], **more})  # type: ignore[arg-type]

        account.home = mail  # type: ignore[attr-defined]
        yield account
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(base, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        if process.poll() is not None:
            pytest.fail(f"dovecot ended: {process.stderr.read()!r} {log.read_text() if log.exists() else ''}")  # type: ignore[union-attr]
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("dovecot did not start")
