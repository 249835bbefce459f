"""Letters from a real Dovecot server over IMAP equal those of a Maildir, and the mailbox is not changed."""

from __future__ import annotations

import imaplib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from pydantic import SecretStr
from receipts_mailbox import write_maildir

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office import imap
from holo_tasks.office.letter_reader import LetterReader
from holo_tasks.office.mailbox import ImapAccount, Letter, MailboxUnreachable, read_imap, read_maildir
from tests.support.dovecot import free_port, mail_server


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Callable[..., ImapAccount]]:
    yield from mail_server()


def test_only_the_head_of_a_message_over_the_limit_is_fetched(
    dovecot: Callable[..., ImapAccount], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap, "MAX_MESSAGE_BYTES", 70)
    monkeypatch.setattr(imap, "HEAD_BYTES", 67)
    asked: list[str] = []
    real = imaplib.IMAP4.uid
    monkeypatch.setattr(imaplib.IMAP4, "uid", lambda *args: (asked.append(str(args[-1])), real(*args))[1])
    (letter,) = read_imap(dovecot(folder="Récus"))
    assert (letter.message_id.partition("+")[0], letter.text) == ("1@a.example", "")
    assert "not read" in letter.problems[0]
    assert asked[-1] == "(BODY.PEEK[]<0.67>)"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> list[Letter]:
    """Return the letters of the Maildir without the mangled one, whose NUL bytes Dovecot changes."""
    folder = tmp_path_factory.mktemp("mail")
    write_maildir(folder)
    return [replace(one, source="") for one in read_maildir(folder)[:-1]]


@pytest.mark.parametrize("security", ["tls", "starttls", "plain"])
def test_imap_gives_the_same_letters_as_the_maildir(
    dovecot: Callable[..., ImapAccount], bare: list[Letter], security: str
) -> None:
    assert [replace(one, source="") for one in read_imap(dovecot(security))[:-1]] == bare


def test_letters_are_parsed_after_the_session(
    dovecot: Callable[..., ImapAccount], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow parsing must not reach the deadline of the session, which would prevent the other letters."""
    told: list[str] = []
    logout, read = imaplib.IMAP4.logout, LetterReader.read

    def left(self: imaplib.IMAP4) -> object:
        told.append("left")
        return logout(self)

    def noted(self: LetterReader, raw: bytes, *, source: str) -> Letter:
        told.append("read")
        return read(self, raw, source=source)

    monkeypatch.setattr(imaplib.IMAP4, "logout", left)
    monkeypatch.setattr(LetterReader, "read", noted)
    letters = read_imap(dovecot())
    assert told == ["left", *["read"] * len(letters)]
    told.clear()
    monkeypatch.setattr("holo_tasks.office.imap._BATCH_BYTES", 1)
    assert read_imap(dovecot()) == letters
    assert told == ["left", "read"] * len(letters)


def test_reading_over_imap_marks_nothing_as_seen(dovecot: Callable[..., ImapAccount]) -> None:
    home: Path = dovecot.home  # type: ignore[attr-defined]
    before = sorted(one.name.split(":")[-1] for sub in ("cur", "new") for one in (home / sub).iterdir())
    read_imap(dovecot())
    after = sorted(one.name.split(":")[-1] for sub in ("cur", "new") for one in (home / sub).iterdir())
    assert sum("S" in one[-3:] for one in after) == sum("S" in one[-3:] for one in before)


def test_an_imap_folder_may_have_an_accent_and_a_first_day(dovecot: Callable[..., ImapAccount]) -> None:
    assert [one.text for one in read_imap(dovecot(folder="Récus"))] == ["Bonjour"]
    assert read_imap(dovecot(folder="Récus"), since=date(2090, 1, 1)) == []


def test_imap_mistakes_are_one_sentence_without_the_password(dovecot: Callable[..., ImapAccount]) -> None:
    wrong = [
        (dovecot(folder="Nowhere"), "no folder", False),
        (dovecot(tls=None), "not trusted", False),
        (dovecot(max_messages=3), "more than 3", False),
        (dovecot(port=free_port()), "check host and port", True),
        (dovecot(password=SecretStr("no-such-secret")), "check user and password", False),
    ]
    for account, says, transient in wrong:
        with pytest.raises(InvalidUsage, match=says) as caught:
            read_imap(account)
        assert "\n" not in str(caught.value)
        assert "no-such-secret" not in str(caught.value) + repr(account)
        assert caught.value.transient is transient


def test_a_server_that_never_ends_reaches_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            peer, _ = server.accept()
            with peer:
                for _ in range(200):
                    try:
                        peer.sendall(b"x")
                    except OSError:
                        return
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        account = ImapAccount(
            host="127.0.0.1", user="a", password=SecretStr("b"), port=server.getsockname()[1],
            security="plain", timeout_s=1, deadline_s=1,
        )  # fmt: skip
        started = time.monotonic()
        with pytest.raises(MailboxUnreachable):
            read_imap(account)
        assert time.monotonic() - started < 4


def test_a_servers_error_is_one_printable_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"* BYE \x1b[2J\x9b31m" + "\u202egone".encode() + b"x" * 5_000 + b"\r\n")

        threading.Thread(target=refuse, daemon=True).start()
        account = ImapAccount(
            host="127.0.0.1", user="a", password=SecretStr("b"), port=server.getsockname()[1], security="plain"
        )
        with pytest.raises(MailboxUnreachable, match="gonexxx") as caught:
            read_imap(account)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 350


def test_a_password_is_not_sent_in_the_clear_unless_asked() -> None:
    given = {"host": "mail.example", "user": "a", "password": SecretStr("b"), "security": "plain"}
    with pytest.raises(InvalidUsage, match="unencrypted"):
        ImapAccount(**given)  # type: ignore[arg-type]
    ImapAccount(**given, allow_plain_password=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidUsage):
        ImapAccount(**{**given, "host": "localhost", "timeout_s": float("nan")})  # type: ignore[arg-type]


def answering(log_in: bytes, exists: int = 0, search: bytes = b"* SEARCH\r\n") -> ImapAccount:
    """Return the account of a server that gives these answers to one session."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = server.accept()
        with server, peer, peer.makefile("rwb") as stream, suppress(ConnectionResetError):
            stream.write(b"* OK ready\r\n")
            stream.flush()
            for line in stream:
                tag, command = line.split()[:2]
                first = {
                    b"CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n",
                    b"EXAMINE": b"* %d EXISTS\r\n" % exists,
                    b"UID": search,
                    b"LOGOUT": b"* BYE\r\n",
                }.get(command.upper(), b"")
                last = log_in if command.upper() == b"LOGIN" else b"OK done"
                stream.write(first + tag + b" " + last + b"\r\n")
                stream.flush()

    threading.Thread(target=serve, daemon=True).start()
    port = server.getsockname()[1]
    return ImapAccount(host="127.0.0.1", user="a", password=SecretStr("b"), port=port, security="plain")


@pytest.mark.parametrize(
    ("answer", "transient"),
    [
        (b"NO [UNAVAILABLE] too many connections of this user", True),
        (b"NO [LIMIT] slow down", True),
        (b"NO [ALERT] Too many simultaneous connections. (Failure)", True),
        (b"NO Temporary problem, please try again later", True),
        (b"NO [AUTHENTICATIONFAILED] Invalid credentials, try again", False),
        (b"NO [ALERT] Application-specific password required", False),
        (b"NO LOGIN failed.", False),
        (b"NO Incorrect password, try again", False),
        (b"NO Login failed, please try again", False),
        (b"NO Too many failed login attempts, try again later", False),
        (b"NO [UNAVAILABLE] Temporary authentication failure", True),
    ],
)
def test_a_busy_server_is_not_taken_for_a_wrong_password(answer: bytes, transient: bool) -> None:
    with pytest.raises(InvalidUsage) as caught:
        read_imap(answering(answer))
    assert caught.value.transient is transient
    assert ("check user and password" in str(caught.value)) is not transient


def test_a_folder_with_too_many_letters_to_list_asks_for_a_day() -> None:
    with pytest.raises(InvalidUsage, match=r"200000 messages, more than 5000: give a day") as caught:
        read_imap(answering(b"OK done", exists=200_000))
    assert not caught.value.transient
    longest = b"* SEARCH " + b" ".join(b"%d" % n for n in range(10**6, 10**6 + 150_000)) + b"\r\n"
    with pytest.raises(InvalidUsage, match="more than 100000: give a day") as caught:
        read_imap(answering(b"OK done", search=longest), since=date(2020, 1, 1))
    assert not caught.value.transient
