"""HTML mails: the visible text, and a problem if the text is there but not visible."""

from __future__ import annotations

import base64

import pytest

from holo_tasks.office.charsets import codec_of
from holo_tasks.office.html_text import MAX_DEPTH, UnreadableHtml, holds_text, html_to_text
from holo_tasks.office.letter import oversized_letter, read_letter, unread_letter

SEEN, NOT_SEEN = "Total: EUR 12.50", ""


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<td style='font-size:0px'><div style='font-size:13px'>Total: EUR 12.50</div></td>", SEEN),
        ("<div style='font-size:0'><p>Total: EUR 12.50</p></div>", NOT_SEEN),
        ("<div style='font-size:0'><p style='font-size:120%'>Total: EUR 12.50</p></div>", NOT_SEEN),
        ("<div style='font-size:0.8em'>Total: EUR 12.50</div>", SEEN),
        ("<div style='font-size:0.0pt'>Total: EUR 12.50</div>", NOT_SEEN),
        ("<div style='visibility:hidden'><b style='visibility:visible'>Total: EUR 12.50</b></div>", SEEN),
        ("<div style='DISPLAY : none !important'><b style='display:block'>Total: EUR 12.50</b></div>", NOT_SEEN),
        ("<div style='max-width:600px;font-size:1px;color:#000'>Total: EUR 12.50</div>", SEEN),
        ("<style>p{}</style><script>Total</script><template>no</template><p>Total: EUR 12.50", SEEN),
        ("<p>Total: <!-- no -->EUR&nbsp;12.50<span hidden>no</span>", SEEN),
        ("<b><i>Total:</b> EUR</i> 12.50", SEEN),
        ("<div style='font-size:small'>Total: EUR 12.50</div>", SEEN),
        ("<div style='font-size:0'><p style='font:bold 12px/1.5 Arial'>Total: EUR 12.50</p></div>", SEEN),
        ("<div style='font-size:0'><font size=3>Total: EUR 12.50</font></div>", SEEN),
        ("<div style='font:700 0/0 a'>Total: EUR 12.50</div>", NOT_SEEN),
        ("<div style='font-size:/* ; */0'>Total: EUR 12.50</div>", NOT_SEEN),
        ("<div style='font-size:0;font-size:12px'>Total: EUR 12.50</div>", SEEN),
        ("<div style='font-size:0!important;font-size:12px'>Total: EUR 12.50</div>", NOT_SEEN),
        ("<div style='display:none;display:block'>Total: EUR 12.50</div>", SEEN),
        ("<div style='--display:none;background:url(\"a;display:none\")'>Total: EUR 12.50</div>", SEEN),
        ("<div style='visibility:hidden'><p style='visibility:unset'>Total: EUR 12.50</p></div>", NOT_SEEN),
        (f"<div style='font-size:{'1' * 200_000}x'>Total: EUR 12.50</div>", SEEN),
    ],
)
def test_visible_text_is_read_and_hidden_text_is_not(html: str, text: str) -> None:
    assert html_to_text(html) == text


def test_cells_are_separated_by_tabs_and_rows_by_lines() -> None:
    html = "<table><tr><td>Item<td>Price<tr><td>Pen<td>1.50</table><pre>a\n  b</pre>"
    assert html_to_text(html) == "Item\tPrice\n\nPen\t1.50\n\na\nb"


@pytest.mark.parametrize("around", ["<pre><b>{}</b></pre>", "<div style='white-space:pre-wrap'>{}</div>"])
def test_line_ends_of_preformatted_text_are_kept(around: str) -> None:
    assert html_to_text(around.format("a\nb")) == "a\nb"


@pytest.mark.parametrize("tags", ["<div></b>", "<li><dd>", "<optgroup>"])
def test_tags_that_nest_although_they_look_closed_are_counted(tags: str) -> None:
    with pytest.raises(UnreadableHtml):
        html_to_text(tags * (MAX_DEPTH + 1))
    assert html_to_text("<ul><li>a<li>b</ul><dl><dt>c<dd>d</dl>" * (MAX_DEPTH // 4)).startswith("a")


def test_a_page_that_nests_too_deeply_is_refused() -> None:
    assert html_to_text("<div>" * MAX_DEPTH + "x") == "x"
    with pytest.raises(UnreadableHtml):
        html_to_text("<div>" * (MAX_DEPTH + 1) + "x")
    assert html_to_text("<p>x<li>y" * 5 * MAX_DEPTH).startswith("x")


def test_text_that_is_only_hidden_is_reported_as_unread() -> None:
    body = b"Content-Type: text/html\r\n\r\n<style>p{}</style><div style='display:none'>Total: EUR 5</div>"
    letter = read_letter(body, source="test")
    assert letter.text == ""
    assert letter.unread == ("the HTML holds text, but none that is visible",)
    assert not read_letter(b"Content-Type: text/html\r\n\r\n<style>p{}</style><img src='x'>", source="test").unread
    assert holds_text("<p>a")
    assert not holds_text("<p title='a'>&nbsp;<!-- b --><title>c</title>")


@pytest.mark.parametrize(
    ("kind", "name", "data", "read"),
    [
        ("application/ms-tnef", "winmail.dat", b"\x78\x9f\x3e\x22x", False),
        ("application/octet-stream", "winmail.dat", b"\x78\x9f\x3e\x22x", False),
        ("application/pkcs7-mime", "smime.p7m", b"\x30\x82", False),
        ("application/octet-stream", "message.p7m", b"\x30\x82", False),
        ("application/pkcs7-signature", "smime.p7s", b"\x30\x82", True),
        ("image/png", "photo.png", b"\x89PNG", False),
        ("application/zip", "receipts.zip", b"PK", False),
        ("text/rtf", "letter.rtf", b"{\\rtf1 Total}", False),
        ("text/calendar", "invitation.ics", b"BEGIN:VCALENDAR", True),
    ],
)
def test_a_part_that_holds_the_whole_message_is_reported_if_it_is_not_read(
    kind: str, name: str, data: bytes, read: bool
) -> None:
    letter = read_letter(f'Content-Type: {kind}; name="{name}"\r\n\r\n'.encode() + data, source="test")
    assert [one for one in letter.unread if name in one] == ([] if read else list(letter.unread))
    assert bool(letter.unread) is not read


def tnef(*levels: int) -> str:
    """Return a file of Outlook with attributes of the message (1) and of attachments (2), in base64."""
    attributes = b"".join(bytes([level]) + bytes(4) + b"\x02\0\0\0" + b"xx" + bytes(2) for level in levels)
    return base64.b64encode(b"\x78\x9f\x3e\x22\0\0" + attributes).decode()


@pytest.mark.parametrize(
    ("text", "kind", "part", "unread"),
    [
        ("Hello", "application/ms-tnef", tnef(1, 1), False),
        ("", "application/ms-tnef", tnef(1, 1), True),
        ("Hello", "application/ms-tnef", tnef(1, 2), True),
        ("Hello", "application/ms-tnef", tnef(1, 1)[:-4], True),
        ("Hello", "text/html", base64.b64encode(b"<p hidden>Preview</p><img>").decode(), False),
        ("", "text/html", base64.b64encode(b"<p hidden>Preview</p><img>").decode(), True),
        ("-----BEGIN PGP MESSAGE-----", "image/png", "", True),
    ],
)
def test_another_form_of_a_text_that_was_read_needs_no_person(text: str, kind: str, part: str, unread: bool) -> None:
    raw = (
        f"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n{text}\n"
        f"--b\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n{part}\n--b--\n"
    )
    assert bool(read_letter(raw.encode(), source="test").unread) is unread


@pytest.mark.parametrize(
    ("parts", "unread"),
    [
        (["text/plain||", "image/jpeg|; name=receipt.jpg|x"], True),
        (["text/plain||see the photo", "image/jpeg|; name=receipt.jpg|x"], False),
        (["text/html||<img src='cid:logo'>", "image/png|; name=logo.png\nContent-ID: <logo>|x"], False),
        (["text/plain||", "text/csv|; name=rows.csv|a,b", "application/zip|; name=more.zip|x"], False),
    ],
)
def test_a_message_that_is_only_a_file_of_an_unread_type_is_unread(parts: list[str], unread: bool) -> None:
    """A receipt that came as a photo was left out without a word."""
    told = [part.split("|") for part in parts]
    body = "".join(f"--b\nContent-Type: {kind}{more}\n\n{text}\n" for kind, more, text in told)
    raw = f"Content-Type: multipart/mixed; boundary=b\n\n{body}--b--\n"
    assert bool(read_letter(raw.encode(), source="test").unread) is unread


@pytest.mark.parametrize("kind", ["message/partial; id=a; number=1; total=2", "message/external-body; access-type=URL"])
def test_a_message_whose_content_did_not_come_is_unread(kind: str) -> None:
    raw = f"Content-Type: {kind}\n\nContent-Type: text/plain\n\nTotal: EUR 12.50\n"
    assert read_letter(raw.encode(), source="test").unread


def test_html_without_a_label_is_read_by_its_own_charset_and_its_first_bytes() -> None:
    page = "<!DOCTYPE html><meta charset=windows-1251><p>Кафе</p>".encode("cp1251")
    assert read_letter(b"Content-Type: text/html\n\n" + page, source="test").text == "Кафе"
    utf_8 = "<meta charset=windows-1251><p>Кафе</p>".encode()
    letter = read_letter(b"Content-Type: text/html\nDate: Mon, 5 Jan 2026 10:00:00 +0000\n\n" + utf_8, source="test")
    assert (letter.text, letter.problems) == ("Кафе", ())
    (file,) = read_letter(b"Content-Type: application/octet-stream; name=a\n\n" + page, source="test").attachments
    assert (file.media_type, file.text) == ("text/html", "Кафе")


def test_a_message_that_was_not_fetched_or_is_too_big_is_unread() -> None:
    assert unread_letter("test", "gone").unread == ("gone",)
    assert oversized_letter(b"Subject: a\n\n", 10**9, source="test").unread


def test_a_pdf_without_a_suffix_is_read_by_its_first_bytes() -> None:
    letter = read_letter(
        b'Content-Type: application/octet-stream; name="Rechnung 4711"\r\n\r\n%PDF-1.4 no', source="test"
    )
    assert letter.attachments[0].media_type == "application/pdf"
    assert any("Rechnung 4711" in one for one in letter.problems)


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("iso-8859-1", b"5 \x80", "5 €"),
        ("gb2312", "镕".encode("gb18030"), "镕"),
        ("shift_jis", b"\x87\x40", "①"),
        ("ks_c_5601-1987", "똠".encode("cp949"), "똠"),
        ("windows-874", b"\xa1", "ก"),
        ("utf-7", b"+AGE-", "a"),
        ("nonsense", b"a", "a"),
    ],
)
def test_a_charset_label_is_read_as_browsers_read_it(label: str, data: bytes, text: str) -> None:
    letter = read_letter(f"Content-Type: text/plain; charset={label}\r\n\r\n".encode() + data, source="test")
    assert letter.text == text


def test_utf_16_is_read_with_its_byte_order_mark() -> None:
    assert "é".encode("utf-16").decode(codec_of("utf-16")) == "é"
    assert b"\xfe\xff\x00\xe9".decode(codec_of("utf-16")) == "é"
