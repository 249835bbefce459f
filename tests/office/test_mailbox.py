"""Letters are read from real mailboxes completely, unchanged and in order, whatever they contain."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import resource
import subprocess
import sys
import time
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from receipts_layouts import one_page_pdf
from receipts_mailbox import messages, write_maildir

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office import letter_reader
from holo_tasks.office.letter import read_letter
from holo_tasks.office.letter_reader import LetterReader
from holo_tasks.office.mailbox import Letter, read_maildir
from receipts.receipt import read_receipt

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


def test_writing_the_mailbox_again_adds_no_letters_even_after_they_were_read(maildir: Path) -> None:
    for one in (maildir / "new").iterdir():
        one.rename(maildir / "cur" / f"{one.name}:2,RS")
    write_maildir(maildir)
    assert len(read_maildir(maildir)) == 16


def test_a_missing_folder_or_another_folder_gives_a_one_line_error(tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InvalidUsage, match="give the path of a Maildir") as caught:
            read_maildir(folder)
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_in_the_folder_does_not_block_the_reader(maildir: Path) -> None:
    os.mkfifo(maildir / "new" / "pipe")
    assert len(read_maildir(maildir)) == 16


def test_a_message_over_the_limit_is_named_but_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.office.mailbox.MAX_MESSAGE_BYTES", 2000)
    put(tmp_path, "big", HEAD + b"Subject: Huge\r\n\r\n" + b"x" * 5000)
    (letter,) = read_maildir(tmp_path)
    assert (letter.subject, letter.text, letter.message_id.partition("+")[0]) == ("Huge", "", "1@a.example")
    assert "not read" in letter.problems[0]


HOPS = b"Received: from mx.example; Mon, 5 Oct 2026 10:00:01 +0200\r\nDelivered-To: me@b.example\r\n"
WORDS = b"Subject: Zo=C3=AB\r\n\r\nTotal: EUR 5,00 \xe2\x82\xac\r\n"
REWRITTEN = b"Subject: Zo=C3=AB\nContent-Transfer-Encoding: quoted-printable\n\nTotal: EUR 5,00 =E2=82=\n=AC\n\n"
FOLDED = HEAD.replace(b"From: Shop", b'From:\r\n "Shop"') + WORDS


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("again", [HOPS + HEAD + WORDS, HEAD.replace(b"\r", b"") + REWRITTEN, FOLDED])
def test_a_message_delivered_twice_counts_once(tmp_path: Path, again: bytes, named: bool) -> None:
    for name, raw in (("one", HEAD + WORDS), ("two", again)):
        put(tmp_path, name, raw if named else re.sub(rb"Message-ID: .*\r?\n", b"", raw))
    assert len(read_maildir(tmp_path)) == 1


def test_a_message_that_is_too_big_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.office.mailbox.MAX_MESSAGE_BYTES", 20_000)
    put(tmp_path, "one", HEAD + b"\r\n" + b"x" * 30_000)
    put(tmp_path, "two", HOPS + HEAD + b"\r\n" + b"x" * 30_000)
    put(tmp_path, "other", HEAD + b"\r\n" + b"y" * 30_000)
    assert len(read_maildir(tmp_path)) == 2


def test_two_messages_with_one_id_do_not_hide_each_other_but_a_copy_is_dropped(tmp_path: Path) -> None:
    put(tmp_path, "one", HEAD + b"\r\nfirst")
    put(tmp_path, "copy", HEAD + b"\r\nfirst")
    put(tmp_path, "two", HEAD + b"\r\nsecond")
    found = read_maildir(tmp_path)
    assert {one.text for one in found} == {"first", "second"}
    assert len({one.message_id for one in found}) == 2


def test_unreadable_attachments_still_distinguish_messages_with_one_id() -> None:
    assert len({attached(data, "scan.png").message_id for data in (b"\x89PNG 1", b"\x89PNG 2")}) == 2


@pytest.mark.parametrize("day", [b"1", b"9"])
def test_later_messages_do_not_change_a_letter(tmp_path: Path, day: bytes) -> None:
    put(tmp_path, "one", HEAD + b"\r\nTotal: EUR 5.00 TX-10482")
    (before,) = map(read_receipt, read_maildir(tmp_path))
    put(tmp_path, "two", HEAD.replace(b"5 Oct", day + b" Oct") + b"\r\nTotal: EUR 6.00 TX-10482")
    after = [read_receipt(one) for one in read_maildir(tmp_path)]
    assert len({one.receipt_id for one in after}) == 2
    assert before in after


def read(body: str | bytes) -> Letter:
    raw = body.encode() if isinstance(body, str) else body
    return read_letter(HEAD + raw, source="test")


def test_table_cells_of_html_stay_apart_and_hidden_text_stays_hidden() -> None:
    letter = read(
        "Content-Type: text/html\r\n\r\n<style>x</style><div hidden>no<div>no</div></div><p>Hi&nbsp;you</p>"
        "<table><tr><td>Total<td><b>EUR</b> 3,10</tr></table><!-- no -->"
    )
    assert letter.text == "Hi you\n\nTotal\tEUR 3,10"


def test_the_plain_alternative_is_preferred_and_the_html_kept() -> None:
    letter = read(
        'Content-Type: multipart/alternative; boundary="b"\r\n\r\n--b\r\n\r\nplain\r\n--b\r\n'
        "Content-Type: text/html\r\n\r\n<p>rich</p>\r\n--b--\r\n"
    )
    assert (letter.text, letter.other_text, letter.problems) == ("plain", "rich", ())


@pytest.mark.parametrize(
    ("charset", "raw", "text", "said"),
    [
        *(
            (label, rb"C:\x41 \u0041 a-b", r"C:\x41 \u0041 a-b", None)
            for label in ("unicode_escape", "Raw-Unicode-Escape")
        ),
        *((label, b"a-b", "a-b", None) for label in ("punycode", "idna", "utf-7", "rot13")),
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
    return read(
        'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n'
        f'Content-Type: application/octet-stream; name="{name}"\r\n'
        f"Content-Transfer-Encoding: base64\r\n\r\n{base64.encodebytes(data).decode()}\r\n--b--\r\n"
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
    pack = zlib.compressobj(9)
    bomb = b"".join(pack.compress(b"(a) Tj " * 2_000_000) for _ in range(12)) + pack.flush()
    page = one_page_pdf(("x",))
    head, _, _ = page.partition(b"5 0 obj")
    data = head + b"5 0 obj\n<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\nendobj\n" % (len(bomb), bomb)
    data += b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    letter = attached(data, "bomb.pdf")
    assert letter.problems
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime < 15


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
    started = time.process_time()
    read("Content-Type: text/html\r\n\r\n" + piece * (600_000 // len(piece)))
    assert time.process_time() - started < 5


def nested(depth: int, lines: int) -> bytes:
    parts = (b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n) for n in range(depth))
    return b"".join(parts) + b"\r\nTotal: EUR 5.00 for TX-10482\r\n" + b"a line\r\n" * lines


TOO_MUCH = nested(40, 2_000_000)
"""More than a second's work also for a quick machine."""


def test_parts_that_nest_400_deep_are_taken_apart_no_further_than_40() -> None:
    """The standard library compares each line with every open boundary: this took minutes."""
    letter = read(b"Subject: Receipt\r\n" + nested(400, 20_000))
    assert "the message has more than 40 parts with parts; the rest was not taken apart" in letter.problems
    assert read_receipt(letter).kind == "unreadable", "the problem is reported"
    assert read(nested(40, 10)).text.startswith("Total: EUR 5.00")
    assert not any("taken apart" in one for one in read(nested(40, 10)).problems)


def slow_pdf(repeats: int) -> bytes:
    """Return a small file that unpacks to many words."""
    words = zlib.compress(b"(a) Tj " * repeats, 9)
    head, _, _ = one_page_pdf(("x",)).partition(b"5 0 obj")
    data = head + b"5 0 obj\n<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\nendobj\n" % (
        len(words),
        words,
    )
    return data + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"


def with_pdfs(*pdfs: bytes) -> bytes:
    part = b"--b\r\nContent-Type: application/pdf; name=r.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n"
    body = b"".join(part % base64.encodebytes(one) for one in pdfs)
    return (
        HEAD
        + b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nTotal: EUR 5.00\r\n'
        + body
        + b"--b--\r\n"
    )


def test_the_pdfs_of_a_letter_share_what_one_may_cost() -> None:
    slow = slow_pdf(3_000_000)
    assert len(slow) < 32_000
    letter = read_letter(with_pdfs(slow, *[one_page_pdf(("x",))] * 200), source="test", pdf_seconds=0.5)
    assert len(letter.attachments) == 198
    assert [bool(one.text) for one in letter.attachments] == [False] * 198
    said = " ".join(letter.problems)
    assert "exceeds the limit of memory or time" in said
    assert "those before it took too long" in said
    assert "the message has more than 5" in said
    assert letter.text == "Total: EUR 5.00"


def test_slow_letters_cost_only_their_child_and_share_a_limit() -> None:
    """Quick letters among them are read."""
    hostile, honest = HEAD + b"Subject: Receipt\r\n" + TOO_MUCH, HEAD + b"\r\nEUR 5.00"
    with LetterReader(cpu_seconds=0, reading_seconds=1.5) as reader:
        before, poison, after = (reader.read(raw, source="x") for raw in (HEAD + b"\r\nfirst", hostile, honest))
        assert 0 < reader.left_s < 1.5
        rest = [reader.read(hostile, source=str(number)) for number in range(6)]
        late = reader.read(honest, source="x")
        assert reader.left_s > -2, "at most one letter was tried beyond the limit"
    assert (before.text, after.text) == ("first", "EUR 5.00")
    assert poison.problems[0] == "the message exceeds the limit of time or memory and was not read"
    assert (poison.subject, poison.sender, poison.text) == ("Receipt", "Shop <shop@a.example>", "")
    assert {problem for letter in rest[3:] for problem in letter.problems if "this mailbox" in problem} == {
        "too many letters of this mailbox exceeded the time limit, so this one was not read"
    }
    assert (late.sender, late.text) == ("Shop <shop@a.example>", "")
    assert len({letter.message_id for letter in (poison, *rest)}) == 1, "it is the same message in each form"


def test_ordinary_letters_do_not_use_the_shared_limit() -> None:
    with LetterReader() as reader:
        for raw in [HEAD + b"\r\nEUR 5.00"] * 50 + [with_pdfs(*[one_page_pdf(("EUR 5.00",))] * 2)] * 2:
            assert reader.read(raw, source="x").problems == ()
        assert reader.left_s == reader.reading_s


def test_a_letter_that_takes_too_much_memory_costs_only_its_child(monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = "real = it.read_letter; it.read_letter = lambda *a, **k: (bytearray(2 << 30), real(*a, **k))[1]; it.main()"
    monkeypatch.setattr(letter_reader, "_BOOT", letter_reader._BOOT.replace("it.main()", greedy))
    with LetterReader() as reader:
        letter = reader.read(HEAD + b"\r\nEUR 5.00", source="x")
    assert (letter.sender, letter.text) == ("Shop <shop@a.example>", "")
    assert letter.problems[0] == "the message exceeds the limit of time or memory and was not read"


def test_a_letter_whose_reading_hangs_costs_only_its_child(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = "import time; real = it.read_letter; "
    hangs += "it.read_letter = lambda *a, **k: (time.sleep(30), real(*a, **k))[1]; it.main()"
    monkeypatch.setattr(letter_reader, "_BOOT", letter_reader._BOOT.replace("it.main()", hangs))
    monkeypatch.setattr(letter_reader, "_WALL_SECONDS", 2)
    with LetterReader() as reader:
        letter = reader.read(HEAD + b"\r\nEUR 5.00", source="x")
    assert (letter.sender, letter.text) == ("Shop <shop@a.example>", "")


def test_a_child_of_a_big_process_does_not_count_as_big() -> None:
    ballast = bytearray(b"x") * (300 << 20)
    with LetterReader() as reader:
        assert reader.read(HEAD + b"\r\nfirst", source="x").text == "first"
        assert reader._child is not None, f"beside {len(ballast)} bytes"


def test_a_child_that_has_become_big_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with LetterReader() as reader:
        assert reader.read(HEAD + b"\r\nfirst", source="x").text == "first"
        assert (kept := reader._child) is not None
        monkeypatch.setattr(letter_reader, "_MOST_RSS_KB", 1)
        assert reader.read(HEAD + b"\r\nsecond", source="x").text == "second"
        assert (reader._child, kept.poll() is None) == (None, False)
        assert reader.read(HEAD + b"\r\nlast", source="x").text == "last"


def test_an_expensive_letter_that_was_read_uses_the_shared_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter_reader, "_FREE_SECONDS", 0)
    with LetterReader() as reader:
        assert reader.read(with_pdfs(*[one_page_pdf(("EUR 5.00",))] * 2), source="x").problems == ()
        assert reader.left_s < reader.reading_s


def test_the_child_returns_the_same_letter_as_a_direct_reading(maildir: Path) -> None:
    raws = [path.read_bytes() for sub in ("cur", "new") for path in sorted((maildir / sub).iterdir())]
    with LetterReader() as reader:
        assert [reader.read(raw, source="s") for raw in raws] == [read_letter(raw, source="s") for raw in raws]


def test_children_get_no_keys_in_their_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, python = tmp_path / "seen", tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$1 $2" >> {seen}\nenv >> {seen}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    put(tmp_path / "mail", "one", with_pdfs(one_page_pdf(("Total: EUR 5.00",))))
    for name in ("HAI_API_KEY", "HOLO_SECRET_PIN", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setattr(sys, "executable", str(python))
    read_letter(with_pdfs(one_page_pdf(("x",))), source="in this process")
    read_maildir(tmp_path / "mail")
    assert seen.read_text().count("-I ") == 2, "the child for letters starts the child for PDFs"
    assert "canary" not in seen.read_text()


CORPUS = [raw for raw, _ in messages() if b"application/pdf" not in raw]


@settings(max_examples=80, deadline=None)
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


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=400))
def test_not_even_noise_makes_reading_raise(noise: bytes) -> None:
    assert isinstance(read_letter(noise, source="fuzz").problems, tuple)


HOSTILE = {
    "parameters": b'Content-Type: multipart/mixed; a="' + b';"' * 400_000,
    "encoded words": b"Subject: " + b"=?a?q?" * 300_000,
    "brackets": b"From: " + b'("' * 300_000,
    "digits": b"\r\nShop\nReceipt 1\n" + b"1" * 900_000,
    "quote marks": b"\r\n" + b">\n" * 200_000,
    "from": b"\r\n" + b"from: a\n" * 50_000,
    "totals": b"\r\n" + b"total (" * 100_000,
    "parts": b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n' + b"--b\r\n\r\nx\r\n" * 50_000,
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_message_takes_seconds_not_hours(raw: bytes) -> None:
    started = time.process_time()
    read_receipt(read_letter(b"X: y\r\n" + raw, source="test"))
    assert time.process_time() - started < 8, "processor time, since other programs may be busy"


def test_without_pypdf_a_pdf_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidUsage, match=r"pip install 'prefect-holo\[office\]'"):
        attached(b"%PDF-1.4", "r.pdf")


def test_importing_the_office_imports_neither_openpyxl_nor_pypdf_nor_prefect() -> None:
    modules = "mailbox workbook imap letter"
    code = "import sys;" + "".join(f"import holo_tasks.office.{one};" for one in modules.split())
    code += "print([one for one in ('openpyxl', 'pypdf', 'prefect') if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_date_without_a_zone_or_without_sense_is_handled() -> None:
    assert read_letter(b"Date: Mon, 5 Oct 2026 10:00:00\n\n", source="").date == datetime(2026, 10, 5, 10, tzinfo=UTC)
    assert read_letter(b"Date: yesterday\n\n", source="").date is None
