"""Mail, attachments, mail servers, existing workbooks, and a person's answer about a receipt."""

from __future__ import annotations

import functools
import io
import socket
import tempfile
import threading
import zipfile
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pydantic import SecretStr

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.columns import Column
from holo_tasks.office.imap import ImapAccount, read_imap
from holo_tasks.office.letter import Letter, in_order, read_letter
from holo_tasks.office.letter_reader import CPU_SECONDS, LetterReader
from holo_tasks.office.pdf_text import pdf_to_text
from holo_tasks.office.workbook import Workbook
from receipts.note import completed
from receipts.receipt import Receipt, read_receipt
from tests.fuzz.target import Target, check

RECEIPT = (
    "Paper & Pine\n12 Mill Lane, 80331 Munich\nReceipt\nDate: 2026-10-05\nReference: TX-10482\nTotal: EUR 1,284.50\n"
)
HTML = f"<html><body><table><tr><td>Merchant</td><td>Paper</td></tr></table><p>{RECEIPT}</p><!-- x --></body></html>"
OBJECTS = (
    b"<</Type/Catalog/Pages 2 0 R>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
    b"<</Length 58>>stream\nBT /F1 12 Tf 20 200 Td (Total: EUR 84.20 TX-10482) Tj ET\nendstream",
    b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
)


@functools.cache
def pdfs() -> list[bytes]:
    made, places = b"%PDF-1.4\n", []
    for number, told in enumerate(OBJECTS, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, told)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    whole = b"%bxref\n0 6\n0000000000 65535 f \n%btrailer\n<</Root 1 0 R/Size 6>>\nstartxref\n%d\n%%%%EOF\n"
    sound = whole % (made, table, len(made))
    return [sound, sound.replace(b"/Font<<", b"/Fonts<<"), made]


def _mail(**parts: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = (
        '"Paper & Pine" <shop@paper.example>',
        parts.get("subject", "Your receipt TX-10482 – Zoë"),
    )
    mail["Date"], mail["Message-ID"] = "Mon, 5 Oct 2026 10:00:00 +0200", "<1@paper.example>"
    mail.set_content(parts.get("text", RECEIPT))
    return mail


@functools.cache
def mails() -> list[bytes]:
    plain, both, files, forwarded = _mail(), _mail(), _mail(), _mail(subject="Fwd: =?utf-8?q?Quittung_=E2=82=AC?=")
    both.add_alternative(HTML, subtype="html")
    files.add_attachment("Merchant,Total,Reference\nPaper,EUR 84.20,TX-10482\n", subtype="csv", filename="r=c.csv")
    files.add_attachment(HTML, subtype="html", filename="receipt.html")
    files.add_attachment(b"%PNG", maintype="image", subtype="png", filename="../../x.png")
    forwarded.add_attachment(_mail())
    crooked = (
        b"From: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=utf-16\n"
        b"Content-Transfer-Encoding: base64\n\nQUJD\n--b\n"
        b"Content-Type: text/html; charset*=x'y'z; name*0=a; name*1*=%41\n"
        b"Content-Transfer-Encoding: quoted-printable\n\n=41=4\n--b\n"
        b"Content-Type: message/rfc822\n\nSubject: =?x?b?QQ?=\n\nhi\n--b--\n"
    )
    return [*(mail.as_bytes() for mail in (plain, both, files, forwarded)), crooked]


LINES = (
    "Content-Type: multipart/mixed; boundary=b",
    "--b",
    "--b--",
    "Content-Type: message/rfc822",
    "Content-Transfer-Encoding: base64",
    "Content-Transfer-Encoding: x-uuencode",
    "Content-Type: text/plain; charset=utf-7",
    "Content-Disposition: attachment; filename*=utf-8''%ff",
    "Date: Mon, 99 Oct 99999 10:00:00 +9999",
    "Subject: =?utf-8?b?////?=",
    "Total: $1,0,0.",
    "Merchant:",
    "begin 666 x",
    "Total incl. VAT: 1.284",
    "Subject: =?unknown?q?=41?= =?utf-16?b?AA==?=",
    "Content-Type: text/html;",
    "<style>",
    "<td hidden>",
    "&#x110000;",
    "<!DOCTYPE [",
    "TX-10482",
)


def _some_mail() -> st.SearchStrategy[bytes]:
    """Headers and bodies in any order, with nested parts."""
    text = st.one_of(st.sampled_from(LINES), st.text(max_size=40))
    block = st.lists(text, max_size=8).map("\r\n".join)
    part = st.recursive(
        block, lambda inner: st.lists(inner, max_size=4).map(lambda parts: "\r\n\r\n--b\r\n".join(parts)), max_leaves=12
    )
    return st.lists(part, min_size=1, max_size=4).map(
        lambda parts: "\r\n\r\n".join(parts).encode("utf-8", "surrogatepass")
    )


def _letter(data: bytes) -> object:
    letter = read_letter(data, source="a mailbox")
    check(bool(letter.message_id), "a letter has no id")
    for text in (letter.message_id, letter.subject, letter.sender, letter.text, letter.other_text, *letter.problems):
        text.encode()
    for file in letter.attachments:
        f"{file.name}{file.text or ''}".encode()
        check(not {"/", "\\"} & set(file.name) or file.media_type == "message/rfc822", "an attachment's name is a path")
    if zlib.crc32(data) % 8 == 0:
        check(_reader().read(data, source="a mailbox") == letter, "the reader process reads a letter differently")
    in_order([letter, letter])
    receipt = read_receipt(letter)
    check((receipt.kind == "receipt") <= bool(receipt.amount and receipt.amount > 0), "a receipt has no amount")
    receipt.model_dump_json()
    _ = receipt.content_digest
    return receipt.kind, letter.problems, len(letter.attachments)


@functools.cache
def _reader() -> LetterReader:
    return LetterReader()


def _pdf(data: bytes) -> object:
    text, wrong = pdf_to_text(data)
    text.encode()
    return bool(text), wrong


TALK = (
    b"* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] ready\r\n",
    b"* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n%t OK done\r\n",
    b"+ \r\n",
    b"%t OK in\r\n",
    b"* 2 EXISTS\r\n* FLAGS (\\Seen)\r\n* OK [UIDVALIDITY 1] x\r\n%t OK [READ-ONLY] done\r\n",
    b"* SEARCH 1 2\r\n%t OK done\r\n",
    b"* 1 FETCH (UID 1 RFC822.SIZE 30)\r\n%t OK done\r\n",
    b"* 1 FETCH (UID 1 BODY[]<0> {30}\r\nSubject: a\r\n\r\nTotal: EUR 1.00)\r\n%t OK done\r\n",
    b"* 2 FETCH (UID 2 RFC822.SIZE 99999999)\r\n%t OK done\r\n",
    b"* 2 FETCH (UID 2 BODY[]<0> {20}\r\nSubject: big\r\n\r\nbody)\r\n%t OK done\r\n",
    b"* BYE\r\n%t OK done\r\n",
)
CUT = b"\x1e"
"""Separates the server's responses to consecutive lines of the client. ``%t`` is the tag of the client's line."""


def _imap(data: bytes) -> object:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        server = threading.Thread(target=_answer, args=(listening, data.split(CUT)), daemon=True)
        server.start()
        account = ImapAccount(
            host="127.0.0.1",
            port=listening.getsockname()[1],
            user="u",
            password=SecretStr("pass word"),
            security="plain",
            timeout_s=2.0,
            deadline_s=4.0,
        )
        try:
            letters = read_imap(account)
        except InvalidUsage as error:
            check("pass word" not in str(error), "an error contains the password")
            raise
        finally:
            listening.close()
    return len(letters), sorted({problem for letter in letters for problem in letter.problems})


def _answer(listening: socket.socket, talk: list[bytes]) -> None:
    try:
        client, _ = listening.accept()
    except OSError:
        return
    with client:
        client.settimeout(0.05)
        tag = b"a"
        for words in talk:
            try:
                client.sendall(words.replace(b"%t", tag))
                line = client.recv(4096)
            except TimeoutError:
                continue  # it waits for more input, and gets it
            except OSError:
                return
            if not line:
                return
            tag = line.split(b" ")[0][:20] if b" " in line else tag


COLUMNS = (
    Column("Receipt"),
    Column("Amount", "money", currency="EUR"),
    Column("Day", "date"),
    Column("At", "datetime"),
    Column("Status", "status"),
    Column("File", "link"),
)
ROW = {
    "Receipt": "R-1",
    "Amount": Decimal("1.50"),
    "Day": date(2026, 1, 2),
    "At": datetime(2026, 1, 2, tzinfo=UTC),
    "Status": "matched",
    "File": "a <b.html>",
}


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp())


def _book(path: Path) -> Workbook:
    return Workbook(path, columns=COLUMNS, key="Receipt", lock_timeout_seconds=5)


@functools.cache
def books() -> list[bytes]:
    """Workbooks as separate parts, because mutations of a ZIP archive rarely reach its content."""
    path = _folder() / "seed.xlsx"
    _book(path).upsert(ROW)
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    return [path.read_bytes(), *(_part(name, data) for name, data in parts.items())]


def _part(name: str, data: bytes) -> bytes:
    return b"PART" + name.encode() + b"\n" + data


def _workbook(data: bytes) -> object:
    path = _folder() / "here.xlsx"
    path.write_bytes(_packed(data) if data.startswith(b"PART") else data)
    for old in _folder().glob("here.xlsx?*"):
        old.unlink()
    book = _book(path)
    try:
        rows = book.rows()
        new = book.upsert(ROW)
        check(not book.upsert(ROW), "a row is added twice")
        check("R-1" in [row["Receipt"] for row in book.rows()], "an added row is missing")
    finally:
        check(path.exists(), "a workbook is gone")
    return new, len(rows)


def _packed(data: bytes) -> bytes:
    """Return a workbook with one part replaced."""
    name, _, changed = data[4:].partition(b"\n")
    whole = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(books()[0])) as seed, zipfile.ZipFile(whole, "w") as packed:
        for each in seed.namelist():
            packed.writestr(each, changed if each.encode() == name else seed.read(each))
    return whole.getvalue()


@functools.cache
def _receipt() -> Receipt:
    return read_receipt(Letter("1", "a receipt", "a", None, "", (), ("damaged",), "s"))


def _said(data: bytes) -> object:
    receipt = completed(_receipt(), data.decode("utf-8", "surrogateescape"))
    check(
        receipt.amount is not None and receipt.amount > 0 and bool(receipt.merchant),
        "an incomplete answer was accepted",
    )
    return receipt.currency


def _some_answer() -> st.SearchStrategy[Any]:
    piece = st.sampled_from(
        [
            "TX-12345",
            "tx-00000",
            "84.20",
            "1,284.50",
            "1.284",
            "EUR",
            "€",
            "USD",
            "$",
            ";",
            " ",
            "Paper & Pine",
            "-",
            "−",
            "٣",
            "²",
            "9" * 30,
        ]
    )
    return st.lists(st.one_of(piece, st.text(max_size=6)), max_size=12).map(
        lambda parts: "".join(parts).encode("utf-8", "surrogatepass")
    )


TARGETS = [
    Target(
        "letter",
        _letter,
        mails,
        shapes=_some_mail,
        words=tuple(f"\n{line}\n".encode() for line in LINES),
        cpu_s=CPU_SECONDS,
        quick=25,
    ),
    Target(
        "pdf",
        _pdf,
        pdfs,
        words=(b"<<", b">>", b"/Filter/FlateDecode", b"/Prev 0", b"4 0 R", b"stream\n", b"xref\n"),
        quick=3,
        leak_rounds=1,
        wall_s=60,
    ),
    Target(
        "imap",
        _imap,
        lambda: [CUT.join(TALK), CUT.join(TALK[:5]), CUT.join((b"* BYE no\r\n",))],
        (InvalidUsage,),
        words=(CUT, b"%t NO [ALERT] ", b"%t BAD ", b"{99999999}\r\n", b"* ", b"\r\n"),
        quick=20,
        leak_rounds=3,
    ),
    Target(
        "workbook",
        _workbook,
        books,
        (InvalidUsage,),
        words=(
            b"PARTxl/workbook.xml\n",
            b'<c t="s"><v>9</v></c>',
            b'r:id="rId9"',
            b'ref="A1:XFD1048576"',
            b"<!DOCTYPE x [<!ENTITY a 'b'>]>",
            b"&a;",
        ),
        cpu_s=15,
        quick=25,
        leak_rounds=3,
    ),
    Target(
        "said",
        _said,
        lambda: [b"TX-12345; 84.20 EUR; Paper & Pine", "TX-12345;€1,284.50;Ä".encode()],
        (InvalidUsage,),
        shapes=_some_answer,
    ),
]
