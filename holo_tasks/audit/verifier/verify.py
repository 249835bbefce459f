"""Verify a trace: that the holder of a key wrote it, and that nothing was removed or added.

`verify` works offline, in one pass, and without the writer's code. It shares only the schema in `core.events`, and for
a bucket the connection (`s3`).

A trace without its last records is INCOMPLETE. A trace that contradicts its signatures, its chain, its pictures or its
anchored heads is TAMPERED.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import rfc8785

from holo_tasks.audit.verifier.bundle import BrokenSequence, Bundle, Line
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.core import events as e

EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp"}
EXIT_CODES = {"VALID": 0, "INCOMPLETE": 3, "TAMPERED": 4}
_BEGINNING = b'{"at":"'
_LONG_NUMBER = re.compile(rb"[:,[]-?[0-9]{16}")


@dataclass(frozen=True)
class Verdict:
    """The result. ``records`` and ``frames`` count the valid ones; ``first_bad`` is the first invalid record."""

    verdict: Literal["VALID", "INCOMPLETE", "TAMPERED"]
    first_bad: int | None
    reason: str
    records: int
    frames: int
    run_id: str
    closed: bool
    head: str
    anchored: dict[str, object] | None
    signed_by: str
    notes: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]


class _Tampered(Exception):
    def __init__(self, seq: int | None, reason: str) -> None:
        super().__init__(reason)
        self.seq = seq


@dataclass(frozen=True)
class _Entry:
    """A line that the holder of the key signed, in whatever trace."""

    line: bytes
    record: e.Record
    digest: str


def verify(bundle: Bundle, key: PublicKey, heads: Heads, *, insist: bool = False, spooled: bool = False) -> Verdict:
    """Verify a trace with a public key and the anchored heads of the run. `Heads.read` must have been called before.

    With ``insist``, a trace without an anchored head is incomplete. ``spooled`` means that the rest of the trace waits
    in this machine's spool.
    """
    verification = _Verification(bundle, key, heads)
    bad: _Tampered | None = None
    try:
        verification.check_chain()
        verification.check_unnamed_files()
        verification.check_length(spooled=spooled)
        if heads.signature_error:
            raise _Tampered(None, heads.signature_error)
    except _Tampered as found:
        bad = found
        if hint := bundle.hint():
            verification.notes.append(hint)
    for source in heads.missing_lists:
        verification.missing.append(f"the list of anchored heads {source} was given but does not exist")
    if insist and not heads.by_sequence:
        verification.missing.append(f"no head of this run is anchored in {' or '.join(heads.sources)}")
    if not verification.closed:
        verification.missing.insert(0, "the run did not record its end: it is still in progress, or it was interrupted")
    reason = _describe(bad) if bad else "; ".join(verification.missing)
    return Verdict(
        "TAMPERED" if bad else "INCOMPLETE" if verification.missing else "VALID",
        bad.seq if bad else None,
        reason,
        verification.records,
        len(verification.pictures),
        verification.run,
        verification.closed,
        verification.head,
        {
            "heads": len(heads.by_sequence),
            "last": heads.newest_sequence,
            "delivered": heads.delivered,
            "where": heads.sources,
        }
        if heads.by_sequence
        else None,
        key.fingerprint,
        verification.notes,
    )


def _describe(bad: _Tampered) -> str:
    return str(bad) if bad.seq is None else f"record {bad.seq} {bad}"


class _Verification:
    """One pass over a trace."""

    def __init__(self, bundle: Bundle, key: PublicKey, heads: Heads) -> None:
        self._bundle, self._key, self._heads = bundle, key, heads
        self.records = 0
        self.run = ""
        self.head = e.FIRST
        self.closed = False
        self.pictures: dict[bytes, int] = {}
        self.missing: list[str] = []
        self.notes: list[str] = []
        self._checked: set[str] = set()
        self._files: set[str] = set()
        self._last_anchored = -1

    def check_chain(self) -> None:
        """Check every record, and the pictures it names, in order."""
        lines = self._bundle.lines()
        before: _Entry | None = None
        while True:
            try:
                line = next(lines, None)
            except BrokenSequence as misfit:
                raise _Tampered(self.records, str(misfit)) from None
            if line is None:
                return
            if self.closed:
                raise _Tampered(self.records, "follows the end of the run, after which nothing is recorded")
            if line.torn and not self._bundle.in_segments:
                if not _is_truncated_record(line.data):
                    raise _Tampered(self.records, "was changed after it was written")
                self.missing.append(f"record {self.records} was only half written")
                return
            before = self._check_record(before, line, lines)

    def check_unnamed_files(self) -> None:
        """Check the files that no record named under that file name."""
        unnamed = 0
        for name in self._bundle.names("frames"):
            if name in self._checked or name[:1] in ("", "."):
                continue
            digest = name.rpartition(".")[0]
            seq = self.pictures.get(bytes.fromhex(digest)) if _is_digest(digest) else None
            if seq is None:
                unnamed += 1
            elif self._bundle.picture(name) != digest:
                raise _Tampered(seq, f"names the picture {digest}, but the file {name} has other contents")
        for name in sorted(self._bundle.skipped):
            self.notes.append(f"the file {name[:80]!r} in events was ignored: it does not belong to a trace")
        if unnamed:
            self.notes.append(f"no record names {unnamed} of the files in frames (a crash can leave such files)")
        if unnamed_files := sum(
            name[:1] not in ("", ".") and name not in self._files for name in self._bundle.names("files")
        ):
            self.notes.append(f"no record names {unnamed_files} of the files in files (a crash can leave such files)")

    def check_length(self, *, spooled: bool) -> None:
        """Compare the length of the trace with the anchored heads."""
        heads = self._heads
        if self.run and self._bundle.name not in (self.run, ""):
            self.notes.append(
                f"this is the trace of the run {self.run!r}, in a folder or prefix named {self._bundle.name!r}"
            )
        if self.records > heads.newest_sequence:
            if 0 <= heads.newest_sequence < self.records - 1:
                self.notes.append(f"nothing after record {heads.newest_sequence} is anchored")
            return
        loss = f"is missing: record {heads.newest_sequence} was anchored ({', '.join(heads.sources)})"
        if self.records < heads.delivered or not self._bundle.in_segments:
            raise _Tampered(self.records, loss)
        # An anchor is written when its record is durable on the recording machine. The upload follows later.
        if spooled:
            self.missing.append("the rest is still in the spool of this machine, and the next run uploads it")
        elif heads.from_this_machine:
            raise _Tampered(self.records, f"{loss}, and the spool of this machine, which recorded it, no longer has it")
        else:
            self.missing.append(
                f"record {self.records} was anchored but is missing: it was not uploaded yet, or it was removed"
            )

    def _check_record(self, before: _Entry | None, line: Line, lines: Iterator[Line]) -> _Entry:
        seq = self.records
        entry = _read(line, self._key)
        if isinstance(entry, str):
            raise _Tampered(seq, self._explain_key(seq, entry, line))
        record = entry.record
        wrong = _position_error(seq, before, entry)
        if wrong:
            if seq == 1 and before and self._first_is_foreign(before, entry, lines):
                raise _Tampered(0, "does not belong to this trace: the next records follow another record")
            raise _Tampered(seq, wrong)
        if self._bundle.named_by_run and record.run != self._bundle.name:
            raise _Tampered(seq, f"belongs to the run {record.run!r}, but is stored as the run {self._bundle.name!r}")
        event = record.event
        if isinstance(event, e.RunOpened) != (seq == 0):
            raise _Tampered(seq, "opens the run a second time" if seq else "is not the opening of a run")
        if isinstance(event, e.RunOpened) and (event.run_id, event.signed_by) != (record.run, self._key.fingerprint):
            raise _Tampered(seq, "names another run or another key than its signature")
        self._check_anchor(entry)
        self._check_pictures(record)
        self._check_file(record)
        self.records, self.head, self.run = seq + 1, entry.digest, record.run
        self.closed = record.event.kind == "run_closed"
        return entry

    def _explain_key(self, seq: int, reason: str, line: Line) -> str:
        """Add to a reason that the trace names another key, if its first record does."""
        named = _parse(line.data) if seq == 0 else None
        if named and isinstance(named.event, e.RunOpened) and named.event.signed_by != self._key.fingerprint:
            return (
                f"{reason}: the trace says it is signed with the key {named.event.signed_by[:16]}…,"
                f" and the key given is {self._key.fingerprint[:16]}…"
            )
        return reason

    def _first_is_foreign(self, first: _Entry, second: _Entry, lines: Iterator[Line]) -> bool:
        """Return whether the first of two consecutive signed records that do not fit together is the wrong one.

        Any record may come first as far as its link shows, so the third record decides.
        """
        if first.line == second.line:
            return False
        name = self._bundle.name
        if first.record.run != second.record.run and name in (first.record.run, second.record.run):
            return name == second.record.run
        try:
            line = next(lines, None)
        except BrokenSequence:
            line = None
        third = _read(line, self._key) if line else ""
        if isinstance(third, str):
            return False
        if first.record.run != second.record.run:
            return third.record.run == second.record.run
        return second.record.seq in (0, 1) and third.record.previous == second.digest

    def _check_anchor(self, entry: _Entry) -> None:
        seq = entry.record.seq
        anchored = self._heads.by_sequence.get(seq)
        if anchored is None:
            return
        if anchored != {entry.digest}:
            since = (
                f"after record {self._last_anchored}, whose head matches"
                if self._last_anchored >= 0
                else "from its start"
            )
            raise _Tampered(seq, f"is not the anchored one: the trace was rewritten {since}")
        self._last_anchored = seq

    def _check_pictures(self, record: e.Record) -> None:
        extension = EXTENSIONS.get(record.event.media_type) if isinstance(record.event, e.FrameTaken) else None
        for digest in pictures(record.event):
            if not _is_digest(digest):
                raise _Tampered(record.seq, f"names the picture {digest[:80]!r}, which is not a SHA-256")
            if bytes.fromhex(digest) in self.pictures:
                continue
            for ending in (extension,) if extension else EXTENSIONS.values():
                found = self._bundle.picture(f"{digest}.{ending}")
                if found is not None:
                    break
            else:
                # Pictures are durable and delivered before the records that name them, so a crash cannot explain this.
                raise _Tampered(record.seq, f"names the picture {digest}, which is missing")
            if found != digest:
                raise _Tampered(record.seq, f"names the picture {digest}, which has been changed")
            self._checked.add(f"{digest}.{ending}")
            self.pictures[bytes.fromhex(digest)] = record.seq

    def _check_file(self, record: e.Record) -> None:
        event = record.event
        if not isinstance(event, e.FileArrived) or not event.kept or event.sha256 in self._files:
            return
        if not _is_digest(event.sha256):
            raise _Tampered(record.seq, f"names the file {event.sha256[:80]!r}, which is not a SHA-256")
        found = self._bundle.digest(f"files/{event.sha256}")
        if found is None:  # like pictures, files are delivered before the records that name them
            raise _Tampered(record.seq, f"names the file {event.sha256}, which is missing")
        if found != event.sha256:
            raise _Tampered(record.seq, f"names the file {event.sha256}, which has been changed")
        self._files.add(event.sha256)


def pictures(event: e.AnyEvent) -> list[str]:
    """Return the SHA-256 digests of the pictures that an event names."""
    match event:
        case e.FrameTaken():
            return [event.sha256]
        case e.RequestSent():
            return event.shots
        case e.TookStock():
            return [event.strip] if event.strip else []
        case e.ActionIntended():
            return [event.before] if event.before else []
        case e.Judged():
            return [digest for digest in (event.before, event.after) if digest]
        case _:
            return []


def _position_error(seq: int, before: _Entry | None, entry: _Entry) -> str:
    """Return why a signed record does not belong at this position, or an empty string."""
    record = entry.record
    if before and record.run != before.record.run:
        return f"is from another run, {record.run!r}"
    if record.seq > seq:
        return f"is missing: record {record.seq} is in its place"
    if record.seq < seq:
        return f"is missing: record {record.seq} is repeated in its place"
    if record.previous != (before.digest if before else e.FIRST):
        return "does not follow the previous record: they were signed for different traces"
    return ""


def _read(line: Line, key: PublicKey) -> _Entry | str:
    """Return a line as an entry, or the reason why it is not a valid record."""
    record = None if line.torn else _parse(line.data)
    if record is None:
        return "is not a record in canonical form"
    if not key.has_signed(line.data):
        return "was changed after it was written, or was signed with another key"
    return _Entry(line.data, record, hashlib.sha256(line.data).hexdigest())


def _parse(line: bytes) -> e.Record | None:
    """Return a record in canonical form, else ``None``. Duplicate and unknown names are rejected."""
    try:
        if not _is_canonical(line):
            return None
        return e.Record.model_validate_json(line, strict=True)
    except (ValueError, RecursionError):  # the errors of pydantic and rfc8785 are ValueErrors
        return None


def _is_canonical(line: bytes) -> bool:
    if not line.isascii() or b"\x7f" in line or b"\\u" in line or _LONG_NUMBER.search(line):
        # Python and RFC 8785 write DEL, escapes and numbers beyond double precision differently.
        return rfc8785.dumps(json.loads(line, parse_int=_parse_int)) == line
    numbers: list[str] = []

    def fraction(text: str) -> float:
        numbers.append(text)
        return float(text)

    value = json.loads(line, parse_float=fraction)
    if numbers:
        return rfc8785.dumps(value) == line
    # Without fractions and non-ASCII text, the standard encoder writes the same form, several times as fast.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() == line


def _parse_int(text: str) -> int | float:
    """Return an integer literal as a number. Beyond 2^53, RFC 8785 writes doubles such as 1e16 in this form."""
    number = float(text)
    return int(text) if abs(number) < 2**53 else number


def _is_truncated_record(torn: bytes) -> bool:
    """Return whether bytes can be the start of a record whose writing was interrupted by a crash."""
    torn = torn.rstrip(b"\0")  # after a power cut, a file may end in zero bytes
    if not torn:
        return True
    if len(torn) > e.LONGEST_LINE or torn[: len(_BEGINNING)] != _BEGINNING[: len(torn)] or min(torn) < 0x20:
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(torn)
        _, end = json.JSONDecoder().raw_decode(text)
    except UnicodeDecodeError:
        return False
    except (ValueError, RecursionError):
        return True
    return end == len(text)


def _is_digest(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
