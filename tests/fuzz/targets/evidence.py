"""Traces and their files: reading, verifying, rendering for people, and the spool of a dead process."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import re
import shutil
import tempfile
import types
import typing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import strategies as st
from PIL import Image
from pydantic import BaseModel

from holo_tasks.audit import resume
from holo_tasks.audit.bucket_places import Keys, Place
from holo_tasks.audit.csv_export import write_runs, write_steps
from holo_tasks.audit.errors import DamagedTrace
from holo_tasks.audit.keys import SigningKey, existing_key, key_path
from holo_tasks.audit.many_runs import read_traces
from holo_tasks.audit.pages.gesture_marks import Ring
from holo_tasks.audit.pages.index import as_json, row_of, write_index
from holo_tasks.audit.pages.report import write_report
from holo_tasks.audit.pages.thumbnails import smaller, thumbnail
from holo_tasks.audit.pages.timeline import subgoal_markdown
from holo_tasks.audit.reader import open_trace
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.audit.verifier.verify import verify
from holo_tasks.core import events as e
from holo_tasks.core.errors import InvalidUsage
from tests.audit.signed import InMemory, write
from tests.fuzz.target import Target, check

KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
MARKUP = "<holo-fuzz onload=x>"


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp())


@functools.cache
def _signed() -> tuple[bytes, dict[str, bytes]]:
    folder = write(_folder(), "run-1", KEY)
    pictures = {f"frames/{path.name}": path.read_bytes() for path in (folder / "frames").iterdir()}
    return (folder / "events.jsonl").read_bytes(), pictures


class _Segments(InMemory):
    in_segments = True


def _trace(data: bytes) -> object:
    whole, pictures = _signed()
    key = PublicKey(KEY.public_pem.encode())
    verdict = verify(InMemory("run-1", {**pictures, "events.jsonl": data}), key, Heads("run-1"))
    check((verdict.verdict == "VALID") == (data == whole), f"a changed trace is {verdict.verdict}")
    check((verdict.verdict == "VALID") or bool(verdict.reason), "there is no reason")
    verdict.reason.encode()
    check(len(verdict.reason) < 3000 and "\n" not in verdict.reason, "a reason is not one line")
    return verdict.verdict, re.sub(r"\d+", "…", verdict.reason)[:60]


def _segments(data: bytes) -> object:
    """Files of a trace, each preceded by a line ``@NAME``."""
    whole, pictures = _signed()
    files = dict(pictures)
    for part in data.split(b"@@")[1:]:
        name, _, content = part.partition(b"\n")
        files[name.decode("utf-8", "replace")] = content
    verdict = verify(_Segments("run-1", files), PublicKey(KEY.public_pem.encode()), Heads("run-1"))
    said = b"".join(files[name] for name in sorted(files) if name.startswith("events/0"))
    check(verdict.verdict != "VALID" or said == whole, "a changed trace has the verdict VALID")
    verdict.reason.encode()
    return verdict.verdict, re.sub(r"\d+", "…", verdict.reason)[:40]


def _in_segments() -> list[bytes]:
    lines = _signed()[0].splitlines(keepends=True)
    cut = len(lines) // 2
    parts = {
        f"events/{0:08}-{cut - 1:08}.jsonl": lines[:cut],
        f"events/{cut:08}-{len(lines) - 1:08}.jsonl": lines[cut:],
    }
    return [b"".join(b"@@" + name.encode() + b"\n" + b"".join(part) for name, part in parts.items())]


def _heads(data: bytes) -> object:
    path = _folder() / "anchors.jsonl"
    path.write_bytes(data)
    heads = Heads("run-1")
    heads.read(str(path), PublicKey(KEY.public_pem.encode()))
    good = set(_anchors()[0].splitlines())
    known = {line for line in data.splitlines() if line in good}
    check(len(heads.by_sequence) <= len(known), "an unsigned head is accepted")
    return len(heads.by_sequence), bool(heads.signature_error)


@functools.cache
def _anchors() -> list[bytes]:
    lines = []
    for seq in range(3):
        said = {"run": "run-1", "seq": seq, "head": f"{seq:064x}", "delivered": seq, "at": "2026-01-01T00:00:00Z"}
        lines.append(rfc8785.dumps({**said, "signature": KEY.sign(rfc8785.dumps(said))}) + b"\n")
    return [b"".join(lines)]


def _told(data: bytes) -> object:
    """All pages made of a trace for people. They do not check its signatures."""
    top = _folder() / "told"
    folder = top / "run-1"
    if not folder.exists():
        folder.mkdir(parents=True)
        shutil.copytree(_folder() / "run-1" / "frames", folder / "frames")
    (folder / "events.jsonl").write_bytes(data)
    page = write_report(folder, _folder() / "report.html").read_text("utf-8")
    runs = list(read_traces(str(top)))
    check(len(runs) == 1, "a trace is not listed")
    rows = [row_of(run) for run in runs]
    json.dumps(as_json(rows)).encode()
    overview = write_index(rows, _folder() / "index.html", where="here").read_text("utf-8")
    for told in (page, overview):
        check("<holo-fuzz" not in told, "a page contains unescaped markup of a trace")
    for writes in (write_runs, write_steps):
        table = io.StringIO()
        writes(runs, table)
        table.getvalue().encode()
    trace = open_trace(folder)
    with contextlib.suppress(DamagedTrace):
        records = list(trace.records())
        for goal in runs[0].story.subgoals[:3]:
            subgoal_markdown(records, goal.number, trace.frame).encode()
    return (
        runs[0].story.status,
        re.sub(r"\d+", "…", runs[0].damage),
        len(runs[0].story.subgoals),
        len(runs[0].story.asides),
    )


def _of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Values that an event's field accepts, and a few that it rejects."""
    text = st.one_of(
        st.just(MARKUP),
        st.sampled_from(
            ["", "answered", "2026-01-01T00:00:00.000000Z", "12:61", "9" * 30, "‘x’", "javascript:x", "0" * 64]
        ),
        st.text(max_size=12),
    )
    numbers = st.one_of(st.integers(0, 12), st.integers(-(2**53), 2**53), st.sampled_from([0, -1, 10**15]))
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return st.sampled_from(typing.get_args(kind))
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(_of_type, typing.get_args(kind)))
    if origin is list:
        return st.lists(_of_type(typing.get_args(kind)[0]), max_size=5)
    if origin is dict:
        return st.dictionaries(
            text,
            st.recursive(
                text | numbers | st.booleans() | st.none(),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["x", "y", "at", "keys", "start"]), inner)
                ),
                max_leaves=4,
            ),
            max_size=4,
        ) | st.fixed_dictionaries(
            {"at": st.fixed_dictionaries({"x": numbers, "y": numbers}), "text": text, "direction": text}
        )
    if kind is int:
        return numbers
    if kind is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if kind is bool:
        return st.booleans()
    if kind is type(None):
        return st.none()
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _of_model(kind)
    return text


def _of_model(kind: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: _of_type(field.annotation) for name, field in kind.model_fields.items()}
    needed = {
        name: made
        for name, made in fields.items()
        if kind.model_fields[name].is_required() or name in ("kind", "subgoal", "step")
    }
    return st.fixed_dictionaries(needed, optional={name: made for name, made in fields.items() if name not in needed})


def _some_story() -> st.SearchStrategy[bytes]:
    """A chain of records of any kind in any order. Of many fields only the type is constrained."""
    kinds = [
        kind
        for kind in vars(e).values()
        if isinstance(kind, type) and issubclass(kind, e.Event) and kind is not e.Event
    ]
    strategies = [_of_model(kind) for kind in kinds]
    at = st.sampled_from(
        [
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:01Z",
            "",
            "yesterday",
            "9999-12-31T23:59:59+23:59",
            "0001-01-01T00:00:00-23:59",
        ]
    )
    return st.lists(st.tuples(at, st.one_of(*strategies)), max_size=14).map(_chained)


def _chained(told: list[tuple[str, dict[str, Any]]]) -> bytes:
    previous, lines = e.FIRST, []
    for seq, (at, event) in enumerate(told):
        record = {"run": "run-1", "seq": seq, "at": at, "previous": previous, "event": event, "signature": "0" * 128}
        try:
            line = rfc8785.dumps(record)
        except rfc8785.CanonicalizationError:
            line = json.dumps(record).encode()
        lines.append(line)
        previous = hashlib.sha256(line).hexdigest()
    return b"".join(line + b"\n" for line in lines)


def _picture(data: bytes) -> object:
    copy = smaller(data)
    small = thumbnail(data, [Ring(5, 5), Ring(-9, 10**9, "note")], None, most_bytes=9000)
    check((copy is None) == (small is None), "copying and shrinking disagree about the validity of a picture")
    return copy is not None


@functools.cache
def _images() -> list[bytes]:
    made = []
    for kind, options in (
        ("JPEG", {}),
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("GIF", {}),
        ("TIFF", {}),
        ("BMP", {}),
    ):
        file = io.BytesIO()
        Image.effect_noise((40, 30), 60).convert("RGB").save(file, kind, **options)
        made.append(file.getvalue())
    return made


FILES = ("uploaded.json", "sent-frames.txt", "sent-segments.txt", "destination.json", "events.jsonl", "frames/x.jpg")


def _spool(data: bytes) -> object:
    """The first line names a file left by a dead process; the rest is its content."""
    name, _, content = data.partition(b"\n")
    home = _folder() / "home"
    shutil.rmtree(home, ignore_errors=True)
    folders = [home / "spool" / run for run in ("run-1", "run-2")]
    for folder in folders:
        (folder / "frames").mkdir(parents=True)
        (folder / "events.jsonl").write_bytes(_signed()[0])
        (folder / "destination.json").write_text(json.dumps(_destination()))
        (folder / "uploaded.json").write_text('{"offset": 0, "seq": 0, "sending": 0}')
    if name.decode("latin-1") in FILES:
        (folders[0] / name.decode()).write_bytes(content)
    with patch.object(resume, "Bucket", _bucket):
        deliveries = resume.resume_spool(home, timeout_s=0)
    check(len(deliveries) == 2, "one spool prevents the delivery of another")
    check("does not say" not in deliveries[1].message, "a valid spool is rejected")
    for folder in folders:
        check(folder.is_dir(), "an undelivered spool was deleted")
    try:
        if (spool := Spool.take(folders[0])) is not None:
            try:
                said = spool.uploaded()
                check(
                    all(isinstance(value, int) and value >= 0 for value in dataclasses.asdict(said).values()),
                    "a count is none",
                )
                list(spool.waiting_frames())
                spool.segment_ends()
            finally:
                spool.release()
    except DamagedTrace:
        pass
    return [re.sub(r"\d+|/\S+", "…", delivery.message)[:80] for delivery in deliveries]


def _bucket(place: Place, keys: Keys) -> object:
    """Connect only to a bucket other than the usual one. Connecting takes long, and no time is left to upload."""
    return object() if place == Place(**_destination()) else Bucket(place, keys)


def _destination() -> dict[str, Any]:
    return {"bucket": "evidence", "endpoint_url": "http://127.0.0.1:9", "region": "us-east-1"}


def _spool_seeds() -> list[bytes]:
    told = (
        b'{"offset": 100, "seq": 1, "sending": 200}',
        b"a.jpg\nb.jpg\n",
        b"<100>\n<200>\n",
        json.dumps(_destination()).encode(),
        _signed()[0],
        b"x",
    )
    return [name.encode() + b"\n" + content for name, content in zip(FILES, told, strict=True)]


def _pem(data: bytes) -> object:
    path = key_path(_folder() / "keys-home")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(data)
    path.chmod(0o600)
    try:
        existing_key(_folder() / "keys-home", {})
    except InvalidUsage as error:
        secret = KEY.private_pem().split(b"\n")[1][-20:].decode()
        check(secret not in str(error), "a private key is in an error")
    key = PublicKey(data)
    check(
        not key.has_signed(_signed()[0].splitlines()[0]) or key.fingerprint == KEY.fingerprint,
        "another key is taken for this one",
    )
    return "key"


TARGETS = [
    Target(
        "trace",
        _trace,
        lambda: [_signed()[0]],
        shapes=_some_story,
        words=(b'"seq":', b'"previous":"', b'"event":{"kind":"run_closed"', b"}\n{", b'"at":"', b'"signature":"'),
        quick=30,
    ),
    Target(
        "told",
        _told,
        lambda: [_signed()[0]],
        shapes=_some_story,
        words=(
            MARKUP.encode(),
            b'"kind":"subgoal_closed"',
            b'"subgoal":1',
            b'"step":9',
            b'"box":[',
            b"null",
            b'"at":"',
        ),
        quick=25,
        leak_rounds=4,
    ),
    Target("heads", _heads, _anchors, (InvalidUsage,), words=(b'"seq":', b'"run":"run-1"', b"}\n{")),
    Target(
        "segments",
        _segments,
        _in_segments,
        (InvalidUsage,),
        words=(
            b"@@events/00000000-00000001.jsonl\n",
            b"@@frames/x.jpg\n",
            b"@@events/.x\n",
            b"@@events/99999999-00000000.jsonl\n",
        ),
        quick=100,
    ),
    Target(
        "picture",
        _picture,
        _images,
        words=(b"IDAT", b"IHDR", b"\xff\xd8", b"\xff\xda", b"RIFF", b"WEBP", b"\xff\xff\xff\x7f"),
        memory_mb=900,
        cpu_s=10,
    ),
    Target(
        "spool",
        _spool,
        _spool_seeds,
        words=(b'"offset":', b'"bucket":', b"\n", b'"endpoint_url":"s3://"', b"1e9", b"null"),
        quick=25,
        leak_rounds=2,
    ),
    Target(
        "pem",
        _pem,
        lambda: [KEY.public_pem.encode(), KEY.private_pem()],
        (InvalidUsage,),
        words=(
            b"-----BEGIN PUBLIC KEY-----\n",
            b"-----BEGIN PRIVATE KEY-----\n",
            b"-----BEGIN RSA PUBLIC KEY-----\n",
            b"-----END PUBLIC KEY-----\n",
        ),
    ),
]
