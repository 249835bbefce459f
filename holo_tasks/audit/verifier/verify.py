"""Is this trace what the holder of a key wrote, all of it, and nothing else?

Offline, in one pass, and without a line of the writer's code: only the schema in `core.events` is shared, and of a
trace in a bucket the connection that fetches it (`s3`), which is the one that delivers. What can be
told of a trace whose last words are missing is that it is incomplete; what contradicts its signatures, its chain, its
pictures or the heads that were anchored apart from it has been tampered with.
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

from holo_tasks.audit.verifier.bundle import Bundle, Line, Misfit
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.core import events as e

EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp"}
EXIT_CODES = {"VALID": 0, "INCOMPLETE": 3, "TAMPERED": 4}
_BEGINNING = b'{"at":"'
_LONG_NUMBER = re.compile(rb"[:,[]-?[0-9]{16}")


@dataclass(frozen=True)
class Verdict:
    """What was found. ``records`` and ``frames`` count what was read and fitted; ``first_bad`` is where that ended."""

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


class _Bad(Exception):
    def __init__(self, seq: int | None, reason: str) -> None:
        super().__init__(reason)
        self.seq = seq


@dataclass(frozen=True)
class _Entry:
    """A line that the key's holder signed, wherever it comes from."""

    line: bytes
    record: e.Record
    digest: str


def verify(bundle: Bundle, key: PublicKey, heads: Heads, *, insist: bool = False, spooled: bool = False) -> Verdict:
    """Check a trace with a key and the heads that were anchored of it, which must have been read before.

    With ``insist`` a trace of which no head was anchored is not complete. ``spooled`` says that the rest of it is
    still waiting on this machine.
    """
    reading = _Reading(bundle, key, heads)
    bad: _Bad | None = None
    try:
        reading.chain()
        reading.strays()
        reading.whole(spooled=spooled)
        if heads.forged:
            raise _Bad(None, heads.forged)
    except _Bad as found:
        bad = found
        if hint := bundle.hint():
            reading.notes.append(hint)
    for source in heads.absent:
        reading.missing.append(f"the list of anchored heads {source} is named, and it is not there")
    if insist and not heads.at:
        reading.missing.append(f"no head of this run is anchored in {' or '.join(heads.where)}")
    if not reading.closed:
        reading.missing.insert(0, "the run did not record its end: it is still going on, or it was interrupted")
    reason = _told(bad) if bad else "; ".join(reading.missing)
    return Verdict(
        "TAMPERED" if bad else "INCOMPLETE" if reading.missing else "VALID",
        bad.seq if bad else None,
        reason,
        reading.records,
        len(reading.pictures),
        reading.run,
        reading.closed,
        reading.head,
        {"heads": len(heads.at), "last": heads.last, "delivered": heads.delivered, "where": heads.where}
        if heads.at
        else None,
        key.fingerprint,
        reading.notes,
    )


def _told(bad: _Bad) -> str:
    return str(bad) if bad.seq is None else f"record {bad.seq} {bad}"


class _Reading:
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
        self._fitted = -1

    def chain(self) -> None:
        """Check every record, and the pictures it names, in order."""
        lines = self._bundle.lines()
        before: _Entry | None = None
        while True:
            try:
                line = next(lines, None)
            except Misfit as misfit:
                raise _Bad(self.records, str(misfit)) from None
            if line is None:
                return
            if self.closed:
                raise _Bad(self.records, "follows the end of the run, after which nothing is recorded")
            if line.torn and not self._bundle.in_segments:
                if not _is_beginning(line.data):
                    raise _Bad(self.records, "is not what was written")
                self.missing.append(f"record {self.records} was only half written")
                return
            before = self._next(before, line, lines)

    def strays(self) -> None:
        """Look at the pictures that no record asked for under that name."""
        unnamed = 0
        for name in self._bundle.names("frames"):
            if name in self._checked or name[:1] in ("", "."):
                continue
            digest = name.rpartition(".")[0]
            seq = self.pictures.get(bytes.fromhex(digest)) if _is_digest(digest) else None
            if seq is None:
                unnamed += 1
            elif self._bundle.picture(name) != digest:
                raise _Bad(seq, f"names the picture {digest}, and the file {name} is another")
        for name in sorted(self._bundle.skipped):
            self.notes.append(f"the file {name[:80]!r} in events was passed over: it is no part of a trace")
        if unnamed:
            self.notes.append(f"{unnamed} files in frames are named by no record (a crash can leave them)")
        if strange := sum(
            name[:1] not in ("", ".") and name not in self._files for name in self._bundle.names("files")
        ):
            self.notes.append(f"{strange} files in files are named by no record (a crash can leave them)")

    def whole(self, *, spooled: bool) -> None:
        """Compare the length of the trace with the heads that were anchored."""
        heads = self._heads
        if self.run and self._bundle.name not in (self.run, ""):
            self.notes.append(f"this is the trace of the run {self.run!r}, in a place named {self._bundle.name!r}")
        if self.records > heads.last:
            if 0 <= heads.last < self.records - 1:
                self.notes.append(f"nothing after record {heads.last} is anchored")
            return
        gone = f"is missing: record {heads.last} was anchored ({', '.join(heads.where)})"
        if self.records < heads.delivered or not self._bundle.in_segments:
            raise _Bad(self.records, gone)
        # An anchor is written when its record is durable on the machine that records; the bucket gets it later.
        if spooled:
            self.missing.append("the rest is still in the spool of this machine, and the next run delivers it")
        elif heads.ours:
            raise _Bad(self.records, f"{gone}, and the spool of this machine, which recorded it, no longer has it")
        else:
            self.missing.append(
                f"record {self.records} was anchored and is not here: it was not delivered yet, or it was removed"
            )

    def _next(self, before: _Entry | None, line: Line, lines: Iterator[Line]) -> _Entry:
        seq = self.records
        entry = _read(line, self._key)
        if isinstance(entry, str):
            raise _Bad(seq, self._in_other_words(seq, entry, line))
        record = entry.record
        wrong = _misplaced(seq, before, entry)
        if wrong:
            if seq == 1 and before and self._first_is_foreign(before, entry, lines):
                raise _Bad(0, "does not belong to this trace: the records after it follow another")
            raise _Bad(seq, wrong)
        if self._bundle.named_by_run and record.run != self._bundle.name:
            raise _Bad(seq, f"is of the run {record.run!r}, in the place of {self._bundle.name!r}")
        event = record.event
        if isinstance(event, e.RunOpened) != (seq == 0):
            raise _Bad(seq, "opens the run a second time" if seq else "is not the opening of a run")
        if isinstance(event, e.RunOpened) and (event.run_id, event.signed_by) != (record.run, self._key.fingerprint):
            raise _Bad(seq, "names another run or another key than those it was signed for")
        self._hold_against_anchors(entry)
        self._look_at_pictures(record)
        self._look_at_file(record)
        self.records, self.head, self.run = seq + 1, entry.digest, record.run
        self.closed = record.event.kind == "run_closed"
        return entry

    def _in_other_words(self, seq: int, reason: str, line: Line) -> str:
        """Say that a trace was signed with another key, if that is what its first record says."""
        named = _parsed(line.data) if seq == 0 else None
        if named and isinstance(named.event, e.RunOpened) and named.event.signed_by != self._key.fingerprint:
            return (
                f"{reason}: the trace says it is signed with the key {named.event.signed_by[:16]}…,"
                f" and the key given is {self._key.fingerprint[:16]}…"
            )
        return reason

    def _first_is_foreign(self, first: _Entry, second: _Entry, lines: Iterator[Line]) -> bool:
        """Of two signed records that do not follow each other, say whether the first is the wrong one.

        Every record can be a first one as far as its link goes, so the record after both tells.
        """
        if first.line == second.line:
            return False
        name = self._bundle.name
        if first.record.run != second.record.run and name in (first.record.run, second.record.run):
            return name == second.record.run
        try:
            line = next(lines, None)
        except Misfit:
            line = None
        third = _read(line, self._key) if line else ""
        if isinstance(third, str):
            return False
        if first.record.run != second.record.run:
            return third.record.run == second.record.run
        return second.record.seq in (0, 1) and third.record.previous == second.digest

    def _hold_against_anchors(self, entry: _Entry) -> None:
        seq = entry.record.seq
        anchored = self._heads.at.get(seq)
        if anchored is None:
            return
        if anchored != {entry.digest}:
            since = f"since record {self._fitted}, whose anchored head fits" if self._fitted >= 0 else "from its start"
            raise _Bad(seq, f"is not the one that was anchored: the trace was written anew {since}")
        self._fitted = seq

    def _look_at_pictures(self, record: e.Record) -> None:
        extension = EXTENSIONS.get(record.event.media_type) if isinstance(record.event, e.FrameTaken) else None
        for digest in pictures(record.event):
            if not _is_digest(digest):
                raise _Bad(record.seq, f"names the picture {digest[:80]!r}, which is no SHA-256")
            if bytes.fromhex(digest) in self.pictures:
                continue
            for ending in (extension,) if extension else EXTENSIONS.values():
                found = self._bundle.picture(f"{digest}.{ending}")
                if found is not None:
                    break
            else:
                # Pictures are durable, and delivered, before the records that name them: no crash explains this.
                raise _Bad(record.seq, f"names the picture {digest}, which is not there")
            if found != digest:
                raise _Bad(record.seq, f"names the picture {digest}, which has been changed")
            self._checked.add(f"{digest}.{ending}")
            self.pictures[bytes.fromhex(digest)] = record.seq

    def _look_at_file(self, record: e.Record) -> None:
        event = record.event
        if not isinstance(event, e.FileArrived) or not event.kept or event.sha256 in self._files:
            return
        if not _is_digest(event.sha256):
            raise _Bad(record.seq, f"names the file {event.sha256[:80]!r}, which is no SHA-256")
        found = self._bundle.digest(f"files/{event.sha256}")
        if found is None:  # as with pictures: files are durable, and delivered, before the records that name them
            raise _Bad(record.seq, f"names the file {event.sha256}, which is not there")
        if found != event.sha256:
            raise _Bad(record.seq, f"names the file {event.sha256}, which has been changed")
        self._files.add(event.sha256)


def pictures(event: e.AnyEvent) -> list[str]:
    """The pictures that an event names, by SHA-256."""
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


def _misplaced(seq: int, before: _Entry | None, entry: _Entry) -> str:
    """What is wrong with the place of a signed record, or nothing."""
    record = entry.record
    if before and record.run != before.record.run:
        return f"is from another run, {record.run!r}"
    if record.seq > seq:
        return f"is missing: record {record.seq} is in its place"
    if record.seq < seq:
        return f"is not here: record {record.seq} is repeated in its place"
    if record.previous != (before.digest if before else e.FIRST):
        return "does not follow the record before it: they were signed for different traces"
    return ""


def _read(line: Line, key: PublicKey) -> _Entry | str:
    """A line as a record, or what is wrong with it."""
    record = None if line.torn else _parsed(line.data)
    if record is None:
        return "is not a record in canonical form"
    if not key.signed(line.data):
        return "is not what was written, or was signed with another key"
    return _Entry(line.data, record, hashlib.sha256(line.data).hexdigest())


def _parsed(line: bytes) -> e.Record | None:
    """A record in its one canonical form: no name twice, nothing but what the schema knows."""
    try:
        if not _is_canonical(line):
            return None
        return e.Record.model_validate_json(line, strict=True)
    except (ValueError, RecursionError):  # pydantic's and rfc8785's errors are ValueErrors
        return None


def _is_canonical(line: bytes) -> bool:
    if not line.isascii() or b"\x7f" in line or b"\\u" in line or _LONG_NUMBER.search(line):
        # Python writes DEL and escapes otherwise than RFC 8785 does, and numbers that a double cannot tell apart.
        return rfc8785.dumps(json.loads(line, parse_int=_whole)) == line
    numbers: list[str] = []

    def fraction(text: str) -> float:
        numbers.append(text)
        return float(text)

    value = json.loads(line, parse_float=fraction)
    if numbers:
        return rfc8785.dumps(value) == line
    # The same form for what has neither fractions nor names beyond ASCII, and several times as fast.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() == line


def _whole(text: str) -> int | float:
    """A number without a point or an exponent; beyond 2^53 only a double is written like that, such as 1e16."""
    number = float(text)
    return int(text) if abs(number) < 2**53 else number


def _is_beginning(torn: bytes) -> bool:
    """Whether bytes can be the beginning of a record that a crash did not let be written to its end."""
    torn = torn.rstrip(b"\0")  # a power cut can leave the length of a file without its last bytes
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
