"""Parse one e-mail message as far as possible.

No mail library is used, because each depth, size and time has a limit here: a sender may try to block the worker.
`read_letter` returns a `Letter`; `letter_reader` calls it in a child process.
"""

from __future__ import annotations

import hashlib
import json
import re
import resource
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import HeaderParseError, MessageDefect
from email.header import decode_header
from email.message import Message
from email.policy import Compat32
from email.utils import parsedate_to_datetime

from holo_tasks.office.charsets import codec_of
from holo_tasks.office.html_text import MAX_HTML_CHARS, UnreadableHtml, holds_text, html_to_text
from holo_tasks.office.pdf_text import CPU_SECONDS, pdf_to_text

MAX_MESSAGE_BYTES = 25 * 1024 * 1024
MAX_PARTS = 200
MAX_HEADER_CHARS = 5_000
MAX_TEXT_CHARS = 1_000_000
"""Characters that are read of all texts of a message together."""
MAX_BOUNDARIES = 40
"""Most multipart parts. The standard library compares each line with the boundary of every open one."""
MAX_PDFS, PDF_SECONDS = 5, 15
"""Most PDFs of a message that are read, and their processor seconds together."""
_TEXT_TYPES = ("text/plain", "text/csv", "text/html", "text/tab-separated-values", "text/markdown")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_SAME_BYTES = 16 * 1024
"""Bytes at the start of an unread body that identify the message. The length of the available start varies."""
_TYPE_BY_SUFFIX = {"txt": "text/plain", "csv": "text/csv", "htm": "text/html", "html": "text/html"}
_SEALED = {
    "application/ms-tnef": "a file of Outlook",
    "application/vnd.ms-tnef": "a file of Outlook",
    "application/pkcs7-mime": "an encrypted or signed message (S/MIME)",
    "application/x-pkcs7-mime": "an encrypted or signed message (S/MIME)",
    "multipart/encrypted": "an encrypted message",
    "application/pgp-encrypted": "an encrypted message (PGP)",
}
"""Types that hold a whole message in a form that is not read here."""
_ELSEWHERE = {
    "message/partial": "only a piece of the message came in this letter",
    "message/external-body": "the content of the message is elsewhere",
}
_BESIDE = frozenset(
    {"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"}
    | {"application/pgp-keys", "text/calendar", "text/vcard", "text/x-vcard", "text/directory"}
)
"""Types of files that go with a message and are not part of its text."""
_INVISIBLE = "the HTML holds text, but none that is visible"
_TYPE_BY_START = {
    b"%pdf-": "application/pdf",
    b"\x78\x9f\x3e\x22": "application/ms-tnef",
    b"<!doc": "text/html",
    b"<html": "text/html",
}
"""Types of files that came as ``application/octet-stream``, by their first bytes in small letters."""
_META_CHARSET = re.compile(rb"""<meta[^>]{1,200}?charset\s*=\s*["']?\s*([\w-]{1,40})""", re.IGNORECASE)
_HEAD_BYTES = 1024
"""Bytes at the start of HTML in which browsers look for its charset."""
_DEFECTS = {
    "InvalidBase64PaddingDefect": "base64 content is cut off",
    "InvalidBase64CharactersDefect": "base64 content holds characters that do not belong there",
    "InvalidBase64LengthDefect": "base64 content is cut off",
    "CloseBoundaryNotFoundDefect": "the message is cut off (a part has no end)",
    "StartBoundaryNotFoundDefect": "the parts of the message were not found",
    "NoBoundaryInMultipartDefect": "the message has parts but does not say what separates them",
    "MultipartInvariantViolationDefect": "the message says it has parts but has none",
    "MissingHeaderBodySeparatorDefect": "the header is broken",
    "FirstHeaderLineIsContinuationDefect": "the header is broken",
    "MisplacedEnvelopeHeaderDefect": "the header is broken",
    "InvalidMultipartContentTransferEncodingDefect": "a multipart has an encoding it cannot have",
}


@dataclass(frozen=True)
class Attachment:
    """A file attached to a letter. ``text`` is ``None`` if its type has no readable text."""

    name: str
    media_type: str
    text: str | None
    size: int


@dataclass(frozen=True)
class Letter:
    """An e-mail message as a person would read it.

    ``message_id`` is the Message-ID, if present, with a digest of the content. Careless mail scripts send several
    messages with one Message-ID. Differences between deliveries do not change it: other headers than Message-ID, Date,
    From and Subject, line ends, folding, and transfer encoding.

    ``date`` has a time zone. ``text`` is the plain body, or the HTML body as text. ``other_text`` is the HTML
    alternative of a plain body, or "". ``problems`` lists defects of the message, and ``source`` says where it was
    found. ``unread`` are those problems that may hide the whole message, such as encrypted content.
    """

    message_id: str
    subject: str
    sender: str
    date: datetime | None
    text: str
    attachments: tuple[Attachment, ...]
    problems: tuple[str, ...]
    source: str
    other_text: str = ""
    unread: tuple[str, ...] = ()


def read_letter(raw: bytes, *, source: str, pdf_seconds: float = PDF_SECONDS) -> Letter:
    """Parse the bytes of a message. Its content never causes an exception. It may take long; `LetterReader` has
    limits.
    """
    return _Reading(source, pdf_seconds).letter(raw)


def oversized_letter(head: bytes, size: int, *, source: str) -> Letter:
    """Return a letter for a message that is too big to read, from its first bytes."""
    why = f"the message is {size / 2**20:.0f} MB, more than {MAX_MESSAGE_BYTES // 2**20} MB: not read"
    return headed_letter(head, why, source=source)


def headed_letter(head: bytes, why: str, *, source: str) -> Letter:
    """Return a letter made from the header only, with ``why`` as its problem."""
    reading = _Reading(source)
    reading.unread[why] = None
    reading.content.append([_digest(_body_of(head)[:_SAME_BYTES])])
    return reading.letter(_header_of(head))


def unread_letter(source: str, why: str) -> Letter:
    """Return a letter for a message whose bytes could not be fetched."""
    return Letter(
        f"sha256:{_digest(source.encode('utf-8', 'replace'))}", "", "", None, "", (), (why,), source, unread=(why,)
    )


class _BoundedPolicy(Compat32):
    """Shortens long headers, and removes the boundary parameter from too many multiparts.

    The standard library parses header parameters in quadratic time, and compares each line with the boundary of every
    open part.
    """

    counted: list[str] | None = None

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        value = value[:MAX_HEADER_CHARS]
        if self.counted is not None and name.lower() == "content-type" and "boundary" in value.lower():
            self.counted.append(name)
            if len(self.counted) > MAX_BOUNDARIES:
                value = value.partition(";")[0]
        return name, value


def _header_of(raw: bytes) -> bytes:
    return _HEADER_END.split(raw, maxsplit=1)[0] + b"\n\n"


def _body_of(raw: bytes) -> bytes:
    """Return the bytes after the header, with normalized line ends."""
    return _bare(b"".join(_HEADER_END.split(raw, maxsplit=1)[1:]))


def _has_files(tnef: bytes) -> bool:
    """Return whether a file of Outlook (TNEF) holds attachments, or is cut off before its end."""
    at = 6  # after the signature and the key
    while at < len(tnef):
        if tnef[at] != 1 or at + 9 > len(tnef):  # 1: an attribute of the message, which repeats its text
            return True
        at += 9 + int.from_bytes(tnef[at + 5 : at + 9], "little") + 2
    return at != len(tnef)


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _bare(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").strip()


class _Reading:
    """The state of parsing one message: its parts and problems, and the remaining limits."""

    def __init__(self, source: str, pdf_seconds: float = PDF_SECONDS) -> None:
        self.source = source
        self.pdf_seconds_left = pdf_seconds
        self.problems: dict[str, None] = {}
        self.unread: dict[str, None] = {}
        self.instead: dict[str, None] = {}
        """Unread parts that repeat the text of the message in another form. They count only without other text."""
        self.files: dict[str, None] = {}
        """Files of types that are not read, without pictures that belong to HTML."""
        self.attachments: list[Attachment] = []
        self.parts = 0
        self.content: list[list[str]] = []
        self.chars_left = MAX_TEXT_CHARS
        self.pdfs = 0

    def problem(self, text: str) -> None:
        self.problems[text] = None

    def settle(self, text: str) -> None:
        """Report the unread forms of a message's text if no other form was read."""
        if not text:
            self.unread |= self.instead
        elif text.startswith("-----BEGIN PGP MESSAGE-----"):
            self.unread["the text is an encrypted message (PGP), which was not read"] = None
        self.instead = {}

    def letter(self, raw: bytes) -> Letter:
        try:
            counted: list[str] = []
            message = message_from_bytes(raw, policy=_BoundedPolicy(counted=counted))  # type: ignore[call-arg]  # any attribute may be given
            if len(counted) > MAX_BOUNDARIES:
                self.problem(
                    f"the message has more than {MAX_BOUNDARIES} parts with parts; the rest was not taken apart"
                )
            plain, html = self.bodies(message)
        except RecursionError:
            self.problem("the message nests parts too deeply")
            message = message_from_bytes(_header_of(raw), policy=_BoundedPolicy())
            plain, html = "", ""
            self.content = []
            self.note_content(message, "", _body_of(raw))
        self.settle(plain or html)
        if not (plain or html) and not any(one.text for one in self.attachments):
            self.unread |= {f"the message has no text, and its file {name!r} was not read": None for name in self.files}
        return Letter(
            message_id=self.message_id(message),
            subject=self.header(message, "Subject"),
            sender=self.header(message, "From"),
            date=self.date(message),
            text=plain or html,
            attachments=tuple(self.attachments),
            problems=tuple(self.unread | self.problems),
            source=self.source,
            other_text=html if plain else "",
            unread=tuple(self.unread),
        )

    def bodies(self, part: Message) -> tuple[str, str]:
        """Return the plain and the HTML body, and collect attachments."""
        self.parts += 1
        if self.parts > MAX_PARTS:
            self.problem(f"the message has more than {MAX_PARTS} parts; the rest was not read")
            return "", ""
        self.note_defects(part.defects)
        # For a single part, get_payload() would decode the text, and fail on a charset in RFC 2231 form.
        payload = part.get_payload() if part.is_multipart() else None
        if why := _ELSEWHERE.get(part.get_content_type()):
            self.unread[why] = None
        if isinstance(payload, list):
            self.note_content(part, "", b"")
            return self.multipart(part, [child for child in payload if isinstance(child, Message)])
        media_type, name = self.kind(part)
        data = part.get_payload(decode=True)
        data = data if isinstance(data, bytes) else b""
        self.note_defects(part.defects)
        self.note_content(part, name, data)
        is_file = bool(name) or part.get_content_disposition() == "attachment"
        if not is_file and media_type == "text/plain":
            return self.decode(data, part), ""
        if not is_file and media_type == "text/html":
            return "", self.html(self.decode(data, part, meta=True))
        self.attach(part, name or f"part-{self.parts}", media_type, data)
        return "", ""

    def multipart(self, part: Message, payload: list[Message]) -> tuple[str, str]:
        # Parts are joined in order. Of alternatives, the first of each kind is taken.
        outer = self.instead
        is_message = part.get_content_type() == "message/rfc822"
        self.instead = {} if is_message else outer
        children = [self.bodies(child) for child in payload]
        if part.get_content_type() == "multipart/alternative":
            plain = next((one for one, _ in children if one), "")
            html = next((one for _, one in children if one), "")
        else:
            # In a mixed message, an HTML part belongs to the body as well.
            plain = "\n\n".join(one or two for one, two in children if one or two)
            html = "\n\n".join(two or one for one, two in children if one or two)
            if not any(one for one, _ in children):
                plain = ""
            elif not any(two for _, two in children):
                html = ""
        if is_message:
            self.settle(plain or html)
            self.instead = outer
            name = self.header(payload[0], "Subject") or "forwarded message"
            text = "\n".join([f"From: {self.header(payload[0], 'From')}", f"Subject: {name}", "", plain or html])
            self.attachments.append(Attachment(name, "message/rfc822", text, len(text.encode())))
            return "", ""
        return plain, html

    def kind(self, part: Message) -> tuple[str, str]:
        """Return the media type, corrected by the file suffix if it is generic, and the file name."""
        try:
            name = self.decoded(part.get_filename() or "")
        except (ValueError, LookupError, TypeError):
            self.problem("an attachment's file name is broken")
            name = "unnamed"
        name = re.split(r"[/\\]", name)[-1].strip()[:200]
        media_type = part.get_content_type()
        suffix = name.rpartition(".")[2].lower()
        if suffix == "pdf" or media_type == "application/x-pdf":
            media_type = "application/pdf"
        elif suffix in _TYPE_BY_SUFFIX and media_type not in _TEXT_TYPES[1:]:
            media_type = _TYPE_BY_SUFFIX[suffix]
        elif suffix == "p7m":
            media_type = "application/pkcs7-mime"
        return media_type, name

    def attach(self, part: Message, name: str, media_type: str, data: bytes) -> None:
        text: str | None = None
        if media_type == "application/octet-stream":
            start = data[:_HEAD_BYTES].lstrip()[:5].lower()
            media_type = next((kind for first, kind in _TYPE_BY_START.items() if start.startswith(first)), media_type)
        if media_type in _SEALED:
            repeats = media_type.endswith("ms-tnef") and not _has_files(data)
            why = f"the content is inside {name!r}, {_SEALED[media_type]}, which was not read"
            if not name.lower().endswith(".p7c"):  # certificates only
                (self.instead if repeats else self.unread)[why] = None
        elif media_type == "application/pdf":
            text, wrong = self.pdf(data)
            if wrong:
                self.problem(f"the attached PDF {name!r} {wrong}")
        elif media_type in _TEXT_TYPES:
            text = self.decode(data, part, meta=media_type == "text/html")
            if media_type == "text/html":
                text = self.html(text)
        elif data and media_type not in _BESIDE and not (media_type.startswith("image/") and part["Content-ID"]):
            self.files[name] = None
        self.attachments.append(Attachment(name, media_type, text, len(data)))

    def pdf(self, data: bytes) -> tuple[str, str | None]:
        """Return the text of a PDF and its problem. All PDFs of a message share one time limit."""
        self.pdfs += 1
        if self.pdfs > MAX_PDFS:
            return "", f"was not read: the message has more than {MAX_PDFS}"
        if self.pdf_seconds_left <= 0:
            return "", "was not read: those before it took too long"
        before = used_s(resource.RUSAGE_CHILDREN)
        text, wrong = pdf_to_text(data, cpu_seconds=min(CPU_SECONDS, 1 + int(self.pdf_seconds_left)))
        self.pdf_seconds_left -= used_s(resource.RUSAGE_CHILDREN) - before
        return self.bounded(text), wrong

    def bounded(self, text: str) -> str:
        """Return the text, cut to the remaining limit of the message."""
        if len(text) > self.chars_left:
            self.problem("the text is very long; only its beginning was read")
            text = text[: self.chars_left]
        self.chars_left -= len(text)
        return text

    def html(self, html: str) -> str:
        if len(html) > MAX_HTML_CHARS:
            self.problem("the HTML is very long; only its beginning was read")
        try:
            text = html_to_text(html)
        except UnreadableHtml:
            self.problem("the HTML cannot be parsed; its tags were cut out")
            return re.sub(r"<[^<>]*>", " ", html[:MAX_HTML_CHARS])
        if not text and holds_text(html):
            self.problem(_INVISIBLE)
            self.instead[_INVISIBLE] = None
        return text

    def decode(self, data: bytes, part: Message, *, meta: bool = False) -> str:
        """Return the bytes as text, in the declared charset if that is right. With ``meta``, HTML may declare it."""
        declared = self.charset(part)
        if meta and not declared and not _is_utf_8(data) and (found := _META_CHARSET.search(data[:_HEAD_BYTES])):
            declared = found[1].decode()
        text = self.clean(self.decode_as(data, declared)).replace("\r\n", "\n").replace("\r", "\n")
        return self.bounded(text).strip()

    def charset(self, part: Message) -> str:
        try:
            return (part.get_content_charset() or "").strip()
        except (ValueError, LookupError, TypeError):
            return "unreadable"

    def decode_as(self, data: bytes, declared: str) -> str:
        codec = codec_of(declared) if declared else "utf-8"
        one_byte = codec.startswith(("cp", "iso8859", "koi8", "mac"))
        attempts = ("utf-8", codec, "cp1252") if one_byte else (codec, "utf-8", "cp1252")
        for attempt in attempts:
            try:
                text = data.decode(attempt)
            except (LookupError, ValueError):  # no such charset; or it is not that (UnicodeError)
                continue
            if declared and not data.isascii() and (attempt != codec or declared.endswith("ascii")):
                self.problem(f"the text says it is {declared[:40]} but is {attempt}")
            return text
        self.problem("the text is in no known charset")
        return data.decode("latin-1")

    def clean(self, text: str) -> str:
        if "\0" in text:
            self.problem("the text holds NUL bytes; they were left out")
        return re.sub(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]", "", text.lstrip("\ufeff"))

    def decoded(self, value: object) -> str:
        """Return a header's value with encoded words decoded."""
        raw = str(value).encode("utf-8", "surrogateescape")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", "replace")
        try:
            pieces = decode_header(text)
        except (HeaderParseError, ValueError):
            self.problem("a header's encoded words are broken")
            pieces = [(text, None)]
        out = []
        for piece, charset in pieces:
            if isinstance(piece, bytes):
                # decode_header gives undeclared bytes as raw-unicode-escape.
                out.append(self.decode_as(piece, charset) if charset else piece.decode("raw-unicode-escape", "replace"))
            else:
                out.append(piece)
        return re.sub(r"\s+", " ", self.clean("".join(out))).strip()

    def header(self, message: Message, name: str) -> str:
        return self.decoded(message.get(name, ""))[:1000]

    def message_id(self, message: Message) -> str:
        given = self.header(message, "Message-ID").strip("<> ")
        digest = _digest(json.dumps([given, self.header(message, "Date"), self.content]).encode())
        return f"{given}+{digest[:16]}" if given and len(given) <= 250 else f"sha256:{digest}"

    def note_content(self, part: Message, name: str, data: bytes) -> None:
        """Record the fields that identify a part. Text extracted from it is not used, since a new parser may extract
        another.
        """
        # Mail servers add or remove quotes around names.
        headers = (self.header(part, "From").replace('"', ""), self.header(part, "Subject"))
        self.content.append([part.get_content_type(), name, self.charset(part), *headers, _digest(_bare(data))])

    def date(self, message: Message) -> datetime | None:
        value = self.header(message, "Date")
        if not value:
            self.problem("the message has no date")
            return None
        try:
            date = parsedate_to_datetime(value)
            return date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
        except (ValueError, TypeError, OverflowError, IndexError):
            self.problem(f"the date {value[:60]!r} cannot be read")
            return None

    def note_defects(self, defects: list[MessageDefect]) -> None:
        for defect in defects:
            self.problem(_DEFECTS.get(type(defect).__name__, "the message does not follow the MIME standard"))


def used_s(who: int = resource.RUSAGE_SELF) -> float:
    """Return the processor seconds of this process, or of its ended children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def sender_name(sender: str) -> str:
    """Return the display name in a From header, or "" if it has only an address."""
    # Not email.utils.parseaddr, which recurses once per open bracket.
    return sender.partition("<")[0].strip(" \"'") if "<" in sender else ""


def in_order(letters: Iterable[Letter]) -> list[Letter]:
    """Return letters by date, then id; letters without a date last. Duplicate deliveries of a message are dropped."""
    latest = datetime.max.replace(tzinfo=UTC)
    unique: dict[str, Letter] = {}
    for one in sorted(letters, key=lambda one: (one.date or latest, one.message_id, one.source)):
        unique.setdefault(one.message_id, one)
    return list(unique.values())
