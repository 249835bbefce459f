"""Letters come out of real mailboxes whole, unharmed and in order, whatever was put in."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office import letter as letters
from holo_tasks.office.letter import read_letter
from holo_tasks.office.mailbox import ImapAccount, Letter, MailboxUnreachable, read_imap, read_maildir

sys.path.insert(0, str(Path(__file__).parent.parent / "apps"))

from receipts_layouts import one_page_pdf
from receipts_mailbox import messages, write_maildir

HEAD = b"From: Shop <shop@a.example>\r\nMessage-ID: <1@a.example>\r\nDate: Mon, 5 Oct 2026 10:00:00 +0200\r\n"


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    folder = tmp_path / "mail"
    write_maildir(folder)
    return folder


def put(folder: Path, name: str, raw: bytes) -> None:
    for sub in ("cur", "new", "tmp"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    (folder / "new" / name).write_bytes(raw)


def snapshot(folder: Path) -> dict[str, tuple[str, float]]:
    return {
        str(one.relative_to(folder)): (hashlib.sha256(one.read_bytes()).hexdigest(), one.stat().st_mtime)
        for one in folder.rglob("*")
        if one.is_file()
    }


def test_a_maildir_is_read_and_left_exactly_as_it_was(maildir: Path) -> None:
    before = snapshot(maildir)
    assert len(read_maildir(maildir)) == 16
    assert snapshot(maildir) == before


def test_letters_come_in_the_order_of_their_dates_on_every_run(maildir: Path) -> None:
    first = read_maildir(maildir)
    assert first == read_maildir(maildir)
    dates = [one.date for one in first if one.date]
    assert dates == sorted(dates)
    assert all(one.utcoffset() is not None for one in dates)


def test_writing_the_mailbox_twice_does_not_double_it_even_after_its_owner_read_it(maildir: Path) -> None:
    for one in (maildir / "new").iterdir():
        one.rename(maildir / "cur" / f"{one.name}:2,RS")
    write_maildir(maildir)
    assert len(read_maildir(maildir)) == 16


def test_a_missing_folder_and_one_that_is_no_maildir_are_one_sentence(tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InvalidUsage, match="give the path of a Maildir") as caught:
            read_maildir(folder)
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_in_the_folder_does_not_hold_the_reader(maildir: Path) -> None:
    os.mkfifo(maildir / "new" / "pipe")
    assert len(read_maildir(maildir)) == 16


def test_a_message_over_the_limit_is_named_but_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.office.mailbox.MAX_MESSAGE_BYTES", 2000)
    put(tmp_path, "big", HEAD + b"Subject: Huge\r\n\r\n" + b"x" * 5000)
    (letter,) = read_maildir(tmp_path)
    assert (letter.subject, letter.text, letter.message_id) == ("Huge", "", "1@a.example")
    assert "not read" in letter.problems[0]


def test_a_message_without_an_id_gets_a_lasting_one_from_its_bytes(tmp_path: Path) -> None:
    raw = b"Subject: no id\n\nhello"
    put(tmp_path, "one", raw)
    assert read_maildir(tmp_path)[0].message_id == "sha256:" + hashlib.sha256(raw).hexdigest()


def test_two_messages_with_one_id_do_not_hide_each_other_but_a_copy_is_dropped(tmp_path: Path) -> None:
    put(tmp_path, "one", HEAD + b"\r\nfirst")
    put(tmp_path, "copy", HEAD + b"\r\nfirst")
    put(tmp_path, "two", HEAD + b"\r\nsecond")
    found = read_maildir(tmp_path)
    assert {one.text for one in found} == {"first", "second"}
    assert len({one.message_id for one in found}) == 2


def read(body: str | bytes) -> Letter:
    raw = body.encode() if isinstance(body, str) else body
    return read_letter(HEAD + raw, source="test")


def test_table_cells_of_html_stay_apart_and_hidden_text_stays_hidden() -> None:
    letter = read(
        "Content-Type: text/html\r\n\r\n<style>x</style><div hidden>no<div>no</div></div><p>Hi&nbsp;you</p>"
        "<table><tr><td>Total<td><b>EUR</b> 3,10</tr></table><!-- no -->"
    )
    assert letter.text == "Hi you\n\nTotal\tEUR 3,10"


def test_the_plain_alternative_is_preferred_and_the_html_kept_beside_it() -> None:
    letter = read(
        'Content-Type: multipart/alternative; boundary="b"\r\n\r\n--b\r\n\r\nplain\r\n--b\r\n'
        "Content-Type: text/html\r\n\r\n<p>rich</p>\r\n--b--\r\n"
    )
    assert (letter.text, letter.other_text, letter.problems) == ("plain", "rich", ())


@pytest.mark.parametrize(
    ("charset", "raw", "text", "said"),
    [
        ("utf-8", "Zoë 5 €".encode(), "Zoë 5 €", None),
        ("iso-8859-15", "Zoë 5 €".encode("iso-8859-15"), "Zoë 5 €", None),
        ("iso-8859-1", "Zoë 5 €".encode("cp1252"), "Zoë 5 €", None),
        ("us-ascii", "Zoë".encode(), "Zoë", "is utf-8"),
        ("utf-8", "Zoë".encode("cp1252"), "Zoë", "is cp1252"),
        ("x-klingon", "Zoë".encode(), "Zoë", "is utf-8"),
        ("utf-8", b"a\0b", "ab", "NUL"),
    ],
)
def test_the_text_is_right_although_the_charset_is_not(charset: str, raw: bytes, text: str, said: str | None) -> None:
    letter = read(f"Content-Type: text/plain; charset={charset}\r\n\r\n".encode() + raw)
    assert letter.text == text
    if said:
        assert any(said in problem for problem in letter.problems)


def attached(data: bytes, name: str) -> Letter:
    import base64

    return read(
        f'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: application/octet-stream; name="{name}"'
        f"\r\nContent-Transfer-Encoding: base64\r\n\r\n{base64.encodebytes(data).decode()}\r\n--b--\r\n"
    )


def test_a_pdf_is_read_and_other_files_are_only_listed() -> None:
    (pdf,) = attached(one_page_pdf(("Total: EUR 5.00", "(brackets) \\")), "r.PDF").attachments
    assert pdf.text is not None
    assert pdf.text.split("\n")[0] == "Total: EUR 5.00"
    (other,) = attached(b"\x89PNG", "../../x.png").attachments
    assert (other.name, other.text, other.size) == ("x.png", None, 4)


def test_a_broken_and_an_encrypted_pdf_are_problems_not_errors() -> None:
    import io

    from pypdf import PdfReader, PdfWriter

    assert any("is damaged" in one for one in attached(b"%PDF-1.4 nonsense", "r.pdf").problems)
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(one_page_pdf(("x",)))))
    writer.encrypt("secret", algorithm="RC4-128")
    packed = io.BytesIO()
    writer.write(packed)
    assert any("is encrypted" in one for one in attached(packed.getvalue(), "r.pdf").problems)


def test_a_pdf_that_unpacks_to_gigabytes_costs_only_its_own_child() -> None:
    import zlib

    pack = zlib.compressobj(9)
    bomb = b"".join(pack.compress(b"(a) Tj " * 2_000_000) for _ in range(20)) + pack.flush()
    page = one_page_pdf(("x",))
    head, _, _ = page.partition(b"5 0 obj")
    data = head + b"5 0 obj\n<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\nendobj\n" % (len(bomb), bomb)
    data += b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"
    started = time.monotonic()
    letter = attached(data, "bomb.pdf")
    assert letter.problems
    assert time.monotonic() - started < 15


def test_a_mangled_message_gives_what_can_be_read_and_says_what_was_wrong() -> None:
    raw, _ = messages()[-1]
    letter = read_letter(raw, source="test")
    assert letter.text.startswith("Your receipt for the repair")
    assert letter.attachments[0].text == "Receipt\nGarage Grub"
    said = " ".join(letter.problems)
    assert all(word in said for word in ("NUL", "cut off", "us-ascii"))


def test_a_thousand_nested_parts_are_a_problem_not_a_crash() -> None:
    raw = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n) for n in range(1500))
    assert read(raw + b"\r\nhello").problems


@pytest.mark.parametrize("piece", ["<!--", "</", "<!", "<a ", '<a a="', "<![CDATA[", "&#", "<script></"])
def test_hostile_html_takes_seconds_not_hours(piece: str) -> None:
    started = time.monotonic()
    read("Content-Type: text/html\r\n\r\n" + piece * (600_000 // len(piece)))
    assert time.monotonic() - started < 5


CORPUS = [raw for raw, _ in messages() if b"application/pdf" not in raw]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_bytes_make_reading_raise(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from(CORPUS)))
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.sampled_from([0, 1, 7, 60]))
        raw[place : place + length] = data.draw(
            st.binary(max_size=24) | st.sampled_from([b"=?utf-8?b?", b"\0", b"\r\n\r\n", b"--"])
        )
    letter = read_letter(bytes(raw), source="fuzz")
    letter.text.encode()
    letter.subject.encode()
    assert letter.message_id


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_not_even_noise_makes_reading_raise(noise: bytes) -> None:
    assert isinstance(read_letter(noise, source="fuzz").problems, tuple)


def test_without_pypdf_a_pdf_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidUsage, match=r"pip install 'prefect-holo\[office\]'"):
        attached(b"%PDF-1.4", "r.pdf")


def test_importing_the_office_imports_neither_openpyxl_nor_pypdf_nor_prefect() -> None:
    modules = "mailbox workbook receipts imap letter"
    code = "import sys;" + "".join(f"import holo_tasks.office.{one};" for one in modules.split())
    code += "print([one for one in ('openpyxl', 'pypdf', 'prefect') if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# IMAP, against a real Dovecot.

PASSWORD = 'pä ss"word\\'


@pytest.fixture(scope="module")
def dovecot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ImapAccount]]:
    server = shutil.which("dovecot") or "/usr/sbin/dovecot"
    if not Path(server).exists() and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-qq", "dovecot-imapd"], capture_output=True, check=False)
    if not Path(server).exists():
        pytest.fail("These tests need the Debian package dovecot-imapd: run apt-get install dovecot-imapd.")
    base = Path("/tmp") / f"dovecot-{os.getpid()}"  # its sockets need a short path
    shutil.rmtree(base, ignore_errors=True)
    mail = base / "home" / "Maildir"
    write_maildir(mail)
    put(mail / ".R&AOk-cus", "1", HEAD + b"Subject: in a folder\r\n\r\nBonjour")
    ports = [free_port(), free_port()]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", base / "key.pem", "-out", base / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    user = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
    (base / "users").write_text(
        f"anna:{{PLAIN}}{PASSWORD}:{os.geteuid() or 65534}:{os.getegid() or 65534}::{base}/home\n"
    )
    (base / "dovecot.conf").write_text(f"""
base_dir = {base}/run
state_dir = {base}/state
log_path = {base}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {user if os.geteuid() else "nobody"}
default_login_user = {user if os.geteuid() else "nobody"}
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
        process.wait(10)
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
    pytest.fail("dovecot did not come up")


@pytest.mark.parametrize("security", ["tls", "starttls", "plain"])
def test_imap_gives_the_same_letters_as_the_maildir(
    dovecot: Callable[..., ImapAccount], maildir: Path, security: str
) -> None:
    from dataclasses import replace

    # Without the mangled one: Dovecot changes its NUL bytes on the way.
    bare = [replace(one, source="") for one in read_maildir(maildir)[:-1]]
    assert [replace(one, source="") for one in read_imap(dovecot(security))[:-1]] == bare


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


def test_a_server_that_never_ends_is_given_up() -> None:
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


def test_a_password_is_not_sent_in_the_clear_unless_asked() -> None:
    given = {"host": "mail.example", "user": "a", "password": SecretStr("b"), "security": "plain"}
    with pytest.raises(InvalidUsage, match="unencrypted"):
        ImapAccount(**given)  # type: ignore[arg-type]
    ImapAccount(**given, allow_plain_password=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidUsage):
        ImapAccount(**{**given, "host": "localhost", "timeout_s": float("nan")})  # type: ignore[arg-type]


def test_a_date_without_a_zone_or_without_sense_is_handled() -> None:
    assert read_letter(b"Date: Mon, 5 Oct 2026 10:00:00\n\n", source="").date == datetime(2026, 10, 5, 10, tzinfo=UTC)
    assert letters.read_letter(b"Date: yesterday\n\n", source="").date is None
