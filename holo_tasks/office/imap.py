"""Read the letters of an IMAP folder in read-only mode.

It uses `imaplib` directly, because no wrapper library limits the size and time of a server's answers. `read_imap` is
the main function.
"""

from __future__ import annotations

import base64
import imaplib
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from ipaddress import ip_address
from typing import Any, Literal

from pydantic import SecretStr

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.letter import MAX_MESSAGE_BYTES, Letter, in_order, unread_letter
from holo_tasks.office.letter_reader import HEAD_BYTES, LetterReader
from holo_tasks.office.plain import plain_text

_BATCH_BYTES = 64 * 2**20
"""Bytes fetched in one session. The letters are parsed after the session, so that slow parsing does not block a
server.
"""
_MOST_RECEIVED = MAX_MESSAGE_BYTES + 2**20
"""Most bytes that are accepted as the answer to one command."""
_INVALID_ANSWER = (ValueError, AttributeError, TypeError, IndexError, KeyError)
"""Exceptions that imaplib raises for invalid answers, and after the watchdog has closed the socket."""
_PASSING = frozenset({"UNAVAILABLE", "LIMIT", "INUSE", "SERVERBUG", "THROTTLED", "OVERQUOTA"})
_LASTING = frozenset({"AUTHENTICATIONFAILED", "AUTHORIZATIONFAILED", "EXPIRED", "PRIVACYREQUIRED", "CONTACTADMIN"})
"""Response codes of RFC 5530, and THROTTLED of Dovecot and Gmail, that say whether a later log-in may succeed."""
_WRONG = re.compile(
    r"\b(invalid|incorrect|wrong|bad|unknown) (user|log-?in|password|credential|account)|password|"
    r"\b(failed|invalid|unsuccessful|incorrect|wrong|bad) (log-?ins?|auth\w*|sign-?ins?|passwords?|attempts?)\b|"
    r"\b(log-?in|auth\w*|sign-?in) (failures|errors)\b",
    re.I,
)
"""Words about the user or the password. They count more than those about the server."""
_BUSY = re.compile(
    r"too many|simultaneous|try (again )?later|try again in|temporar|unavailable|not available|busy|"
    r"internal (server )?error|rate.?limit|throttl|maximum number of connections",
    re.I,
)
# IMAP requires English month names in every locale.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class MailboxUnreachable(InvalidUsage):
    """The mail server did not answer, or broke the connection. A later try may succeed."""

    transient = True
    lasting = False


@dataclass(frozen=True, kw_only=True)
class ImapAccount:
    """A mail server, the user and the folder to read.

    ``security`` "plain" sends the password unencrypted. It is allowed to this machine only, unless
    ``allow_plain_password`` is set. ``timeout_s`` limits each wait for the server, and ``deadline_s`` each session.
    ``tls`` replaces the default checks of the server's certificate.
    """

    host: str
    user: str
    password: SecretStr
    folder: str = "INBOX"
    port: int | None = None
    security: Literal["tls", "starttls", "plain"] = "tls"
    allow_plain_password: bool = False
    timeout_s: float = 20.0
    deadline_s: float = 300.0
    max_messages: int = 5000
    tls: ssl.SSLContext | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.host.strip() or not self.user:
            raise InvalidUsage("Reading mail over IMAP needs a host and a user: give both.")
        for name, value in (("host", self.host), ("user", self.user), ("folder", self.folder)):
            if re.search(r"[\0-\x1f\x7f]", value):
                raise InvalidUsage(f"The IMAP {name} holds control characters: remove them.")
        if not (0 < self.timeout_s <= 600 and 0 < self.deadline_s <= 3600):  # false for NaN as well
            raise InvalidUsage("IMAP time limits must be positive, at most 600 and 3600 seconds.")
        if self.port is not None and not 0 < self.port < 65536:
            raise InvalidUsage("An IMAP port is between 1 and 65535: correct it.")
        if self.security == "plain" and not (self.allow_plain_password or _is_loopback(self.host)):
            raise InvalidUsage(
                f"Plain IMAP would send the password to {self.host} unencrypted: use security='tls', "
                "or set allow_plain_password."
            )

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port or (993 if self.security == 'tls' else 143)}"


def read_imap(account: ImapAccount, *, since: date | None = None) -> list[Letter]:
    """Return every message of the folder, since a day if given, by date and then id. No flag is changed.

    Raises `MailboxUnreachable` if the server does not answer in time. Raises `InvalidUsage` if it refuses the user or
    the folder, or if the folder has more than ``max_messages``.
    """
    letters: list[Letter] = []
    left: list[int] | None = None
    with LetterReader() as reader:
        while left is None or left:
            with _session(account) as server:
                _log_in(server, account)
                answer, counted = server.select(_quoted(_utf7(account.folder)), readonly=True)
                if answer != "OK":
                    raise InvalidUsage(f"{account.address} has no folder {account.folder!r}: give one it has.")
                if left is None:
                    if since is None:
                        _check_number(int(_joined(counted) or 0), account)
                    left = _listed(server, account, since)
                fetched = _fetched(server, account, left)
            letters += [_read(message, reader) for message in fetched]
    return in_order(letters)


@contextmanager
def _session(account: ImapAccount) -> Iterator[imaplib.IMAP4]:
    context = account.tls or ssl.create_default_context()
    late = threading.Event()
    timers: list[threading.Timer] = []

    def watch(server: imaplib.IMAP4) -> None:
        # The socket's own timeout never fires for a server that sends byte by byte.
        def give_up() -> None:
            late.set()
            with suppress(OSError):
                server.socket().shutdown(socket.SHUT_RDWR)

        timers.append(threading.Timer(account.deadline_s, give_up))
        timers[0].daemon = True
        timers[0].start()

    try:
        server = _connected(account, context, watch)
        try:
            if account.security == "starttls":
                server.starttls(context)
            yield server
        finally:
            if not late.is_set():
                with suppress(OSError, imaplib.IMAP4.error):
                    server.logout()
    except ssl.SSLCertVerificationError as fault:
        raise InvalidUsage(
            f"The certificate of {account.address} is not trusted ({fault.verify_message}): "
            "give the host's real name or a certificate this machine trusts."
        ) from None
    except (OSError, imaplib.IMAP4.error, *_INVALID_ANSWER) as fault:
        why = f"no end within {account.deadline_s:g} s" if late.is_set() else _why(fault, account)
        if isinstance(fault, _INVALID_ANSWER) and not late.is_set():
            why = f"its answers are not those of a mail server: {why}"
        raise MailboxUnreachable(
            f"The mail server {account.address} could not be read ({why}): check host and port, or try later."
        ) from None
    finally:
        for timer in timers:
            timer.cancel()


class _BoundedImap(imaplib.IMAP4):
    """IMAP client that limits the size of the answer to a command. The server alone decides the length otherwise."""

    _received = 0

    def send(self, data: Any) -> None:
        self._received = 0
        super().send(data)

    def read(self, size: int) -> bytes:
        return self._taken(size, super().read)

    def readline(self) -> bytes:
        line = super().readline()
        return self._taken(len(line), lambda _: line)

    def _taken(self, size: int, take: Callable[[int], bytes]) -> bytes:
        self._received += size
        if self._received > _MOST_RECEIVED:
            raise self.abort(f"an answer has more than {_MOST_RECEIVED // 2**20} MB")
        return take(size)


def _connected(account: ImapAccount, context: ssl.SSLContext, watch: Callable[[imaplib.IMAP4], None]) -> imaplib.IMAP4:
    """Return a connection after the server's greeting. ``watch`` is called before the wait for the greeting."""

    class Plain(_BoundedImap, imaplib.IMAP4):
        def open(self, *args: Any, **more: Any) -> None:
            super().open(*args, **more)
            watch(self)

    class Tls(_BoundedImap, imaplib.IMAP4_SSL):
        def open(self, *args: Any, **more: Any) -> None:
            super().open(*args, **more)
            watch(self)

    host, port = account.address.rsplit(":", 1)
    if account.security == "tls":
        return Tls(host, int(port), ssl_context=context, timeout=account.timeout_s)
    return Plain(host, int(port), timeout=account.timeout_s)


def _log_in(server: imaplib.IMAP4, account: ImapAccount) -> None:
    secret = account.password.get_secret_value()
    try:
        if "AUTH=PLAIN" in server.capabilities:
            server.authenticate("PLAIN", lambda _: f"\0{account.user}\0{secret}".encode())
        else:
            if re.search(r"[\0-\x1f\x7f]", secret) or not (secret + account.user).isascii():
                raise InvalidUsage(f"{account.address} takes ASCII passwords only: use an app password.")
            server.login(_quoted(account.user), secret)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as fault:
        if _passes(_why(fault, account)):
            raise MailboxUnreachable(
                f"{account.address} refuses log-ins for now ({_why(fault, account)}): try later, or read the mailbox "
                "from fewer places at a time."
            ) from None
        raise InvalidUsage(
            f"{account.address} refused user {account.user!r} ({_why(fault, account)}): check user and password."
        ) from None


def _passes(answer: str) -> bool:
    """Return whether a refused log-in is about the state of the server (RFC 5530), and not about the user."""
    code = re.match(r"\[([A-Z]+)", answer, re.I)
    if code and code[1].upper() in _LASTING:
        return False
    if code and code[1].upper() in _PASSING:
        return True
    return not _WRONG.search(answer) and bool(_BUSY.search(answer))


@dataclass(frozen=True)
class _Message:
    """A fetched message; ``raw`` is ``None`` if the server returned no content."""

    source: str
    size: int
    raw: bytes | None


def _listed(server: imaplib.IMAP4, account: ImapAccount, since: date | None) -> list[int]:
    """Return the UIDs of the messages, the newest first. Raises `InvalidUsage` above ``max_messages``."""
    criteria = f"SINCE {since.day}-{_MONTHS[since.month - 1]}-{since.year}" if since else "ALL"
    try:
        found = server.uid("SEARCH", criteria)[1]
    except imaplib.IMAP4.error as fault:
        if "got more than" not in str(fault):  # the longest line that imaplib reads
            raise
        raise InvalidUsage(
            f"{account.folder!r} holds too many messages to list, more than 100000: give a day to start from."
        ) from None
    uids = {int(uid) for uid in re.findall(rb"\b\d{1,10}\b", b" ".join(one for one in found if one))}
    _check_number(len(uids), account)
    return sorted(uids, reverse=True)


def _check_number(messages: int, account: ImapAccount) -> None:
    """Raise `InvalidUsage` above ``max_messages``."""
    if messages > account.max_messages:
        raise InvalidUsage(
            f"{account.folder!r} holds {messages} messages, more than {account.max_messages}: "
            "give a day to start from, or a higher max_messages."
        )


def _fetched(server: imaplib.IMAP4, account: ImapAccount, left: list[int]) -> list[_Message]:
    """Fetch messages and remove them from ``left``, until it is empty or a session's bytes are used up."""
    fetched: list[_Message] = []
    had = 0
    while left and had < _BATCH_BYTES:
        uid = left.pop()
        listed = re.search(rb"RFC822\.SIZE (\d{1,19})\b", _joined(server.uid("FETCH", str(uid), "(RFC822.SIZE)")[1]))
        if listed is None:
            continue  # deleted by its owner since the folder was listed
        size = int(listed[1])
        most = MAX_MESSAGE_BYTES if size <= MAX_MESSAGE_BYTES else HEAD_BYTES
        answer = server.uid("FETCH", str(uid), f"(BODY.PEEK[]<0.{most}>)")[1]
        raw = next((one[1] for one in answer if isinstance(one, tuple)), None)
        had += len(raw or b"")
        fetched.append(_Message(f"imap://{account.address}/{account.folder};UID={uid}", size, raw))
    return fetched


def _read(message: _Message, reader: LetterReader) -> Letter:
    if message.raw is None:
        return unread_letter(message.source, "the mail server did not give the message")
    if message.size > MAX_MESSAGE_BYTES:
        return reader.read_oversized(message.raw, message.size, source=message.source)
    return reader.read(message.raw[:MAX_MESSAGE_BYTES], source=message.source)


def _joined(answer: list[Any]) -> bytes:
    return b" ".join(one[0] if isinstance(one, tuple) else one for one in answer if one)


def _why(fault: Exception, account: ImapAccount) -> str:
    """Return the error of the server or system on one line, without the password."""
    text = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    if fault.args and isinstance(fault.args[0], bytes):
        text = fault.args[0].decode("utf-8", "replace")
    secret = account.password.get_secret_value()
    text = text.replace(secret, "****") if secret else text
    return plain_text(text) or type(fault).__name__


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _utf7(folder: str) -> str:
    """Return the folder's name in modified UTF-7 (RFC 3501, section 5.1.3)."""

    def shifted(run: re.Match[str]) -> str:
        code = base64.b64encode(run[0].encode("utf-16-be"), b"+,").decode().rstrip("=")
        return f"&{code}-"

    return re.sub(r"[^\x20-\x7e]+", shifted, folder.replace("&", "&-"))


def _is_loopback(host: str) -> bool:
    if host.lower() in ("localhost", "localhost.localdomain"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
