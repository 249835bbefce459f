"""Test the verifier: it finds every kind of tampering and names the first bad record. A crash is not tampering."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import rfc8785

from holo_tasks.audit.keys import SigningKey
from holo_tasks.audit.reader import FolderTrace
from holo_tasks.audit.verifier import verify as verifier
from holo_tasks.audit.verifier.bundle import FolderBundle, open_bundle
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.cli.verify import verify_trace
from holo_tasks.core import events as e
from holo_tasks.core.errors import InvalidUsage
from tests.audit.signed import InMemory, Spoiled, picture, story, write

KEY = SigningKey.new()
GARBAGE = [
    b"", b" ", b"{}", b"null", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b"NaN", b'{"seq":NaN}', b"\x00" * 99,
    b'{"seq":0,"seq":0}', b"9" * 6000, b'"' + b"x" * 3_000_000 + b'"',
]  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Spoiled:
    return Spoiled(write(tmp_path, "run-1", KEY), KEY)


@pytest.fixture
def other(tmp_path: Path) -> list[bytes]:
    """The lines of another run with the same key. Its pictures are in the folder as well."""
    folder = write(tmp_path, "run-2", KEY)
    for path in (folder / "frames").iterdir():
        (tmp_path / "run-1" / "frames").mkdir(parents=True, exist_ok=True)
        (tmp_path / "run-1" / "frames" / path.name).write_bytes(path.read_bytes())
    return (folder / "events.jsonl").read_bytes().splitlines(keepends=True)


def found(trace: Spoiled, lines: list[bytes]) -> tuple[str, int | None]:
    verdict = trace.verdict(lines)
    assert verdict.reason
    assert "\n" not in verdict.reason
    return verdict.verdict, verdict.first_bad


def test_a_whole_trace_is_valid(trace: Spoiled) -> None:
    verdict = trace.verdict()
    assert (verdict.verdict, verdict.first_bad, verdict.closed, verdict.exit_code) == ("VALID", None, True, 0)
    assert (verdict.records, verdict.frames, verdict.run_id) == (len(trace.lines), 3, "run-1")
    assert verdict.head == hashlib.sha256(trace.lines[-1][:-1]).hexdigest()
    assert verdict.notes == []


def test_every_changed_byte_of_the_events_is_found_at_its_record(tmp_path: Path) -> None:
    """One bit is flipped in each byte, a different one each time. A flipped last line end is not a torn line."""
    trace = Spoiled(write(tmp_path, "run-1", KEY, story("run-1", steps=1)), KEY)
    bundle, bad = bytearray(b"".join(trace.lines)), []
    place = 0
    for seq, line in enumerate(trace.lines):
        for offset in range(len(line)):
            bit = 1 << (place % 8)
            bundle[place] ^= bit
            if found(trace, [bytes(bundle)]) != ("TAMPERED", seq):
                bad.append((seq, offset, bit))
            bundle[place] ^= bit
            place += 1
    assert bad == []
    assert trace.verdict(trace.lines).verdict == "VALID"


def test_every_changed_byte_of_a_picture_is_found_at_its_first_record(trace: Spoiled) -> None:
    named: dict[str, int] = {}
    for seq, line in enumerate(trace.lines):
        for digest in verifier.pictures(e.RECORD.validate_json(line).event):
            named.setdefault(digest, seq)
    assert len(named) == 3
    for digest, seq in named.items():
        path = trace.folder / "frames" / f"{digest}.jpg"
        data = path.read_bytes()
        for place in range(len(data)):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
            assert (trace.verdict().verdict, trace.verdict().first_bad) == ("TAMPERED", seq), (digest, place)
        path.unlink()
        assert (trace.verdict().verdict, trace.verdict().first_bad) == ("TAMPERED", seq)
        path.write_bytes(data)
    assert trace.verdict().verdict == "VALID"


def test_every_deleted_duplicated_or_swapped_record_is_found(trace: Spoiled) -> None:
    lines = trace.lines
    for n in range(len(lines)):
        if n < len(lines) - 1:
            assert found(trace, lines[:n] + lines[n + 1 :]) == ("TAMPERED", n)
            assert found(trace, [*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]]) == ("TAMPERED", n)
        assert found(trace, lines[: n + 1] + lines[n:]) == ("TAMPERED", n + 1)
        for inserted in (b"\n", b" \n", b"{}\n", b"null\n"):
            assert found(trace, [*lines[:n], inserted, *lines[n:]]) == ("TAMPERED", n)


def test_every_record_from_another_run_is_found(trace: Spoiled, other: list[bytes]) -> None:
    lines = trace.lines
    for n in range(len(lines)):
        for foreign in other:
            assert found(trace, [*lines[:n], foreign, *lines[n + 1 :]]) == ("TAMPERED", n)
            assert found(trace, [*lines[:n], foreign, *lines[n:]]) == ("TAMPERED", n)
        if n:
            assert found(trace, lines[:n] + other[n:]) == ("TAMPERED", n)


def test_every_record_from_another_trace_of_the_same_run_id_is_found(trace: Spoiled, tmp_path: Path) -> None:
    told = story("run-1")
    twin = Spoiled(
        write(tmp_path / "elsewhere", "run-1", KEY, [told[0].model_copy(update={"title": "x"}), *told[1:]]), KEY
    )
    lines = trace.lines
    for n in range(len(lines)):
        assert twin.lines[n] != lines[n]
        assert found(trace, [*lines[:n], twin.lines[n], *lines[n + 1 :]]) == ("TAMPERED", n)


def test_a_trace_of_two_records_is_identified_by_its_folder(tmp_path: Path) -> None:
    told = [story("run-1")[0], story("run-1")[-1]]
    trace = Spoiled(write(tmp_path, "run-1", KEY, told), KEY)
    foreign = Spoiled(write(tmp_path, "run-2", KEY, [story("run-2")[0], told[1]]), KEY).lines
    assert found(trace, [foreign[0], trace.lines[1]]) == ("TAMPERED", 0)
    assert found(trace, [trace.lines[0], foreign[1]]) == ("TAMPERED", 1)


def test_a_crash_leaves_an_incomplete_trace_at_worst(trace: Spoiled) -> None:
    whole = b"".join(trace.lines)
    for end in (*range(0, len(whole), 7), *range(len(whole) - 6, len(whole))):
        verdict = trace.verdict([whole[:end]])
        assert (verdict.verdict, verdict.first_bad, verdict.exit_code) == ("INCOMPLETE", None, 3), end
        assert verdict.reason


@pytest.mark.parametrize("tail", [b"\0", b"\0" * 5000, b'{"at":"2026-' + b"\0" * 9])
def test_trailing_zeros_after_a_power_cut_are_incomplete(trace: Spoiled, tail: bytes) -> None:
    assert found(trace, [*trace.lines[:-1], tail]) == ("INCOMPLETE", None)


@pytest.mark.parametrize("tail", [b"", b"\n", b'{"at":"2026-'])
def test_nothing_may_follow_the_end_of_the_run(trace: Spoiled, tmp_path: Path, tail: bytes) -> None:
    told = story("run-1")
    longer = Spoiled(write(tmp_path / "longer", "run-1", KEY, [*told, told[-2]]), KEY)
    verdict = longer.verdict([*longer.lines[:-1], tail] if tail else longer.lines)
    assert (verdict.verdict, verdict.first_bad) == ("TAMPERED", len(trace.lines))
    assert "follows the end of the run" in verdict.reason


def test_the_opening_event_gets_the_run_id_of_its_record(tmp_path: Path) -> None:
    """A secret may be part of the run's id. It is then masked in the event but not in the record."""
    told = story("run-1")
    scrubbed = [told[0].model_copy(update={"run_id": "run-[secret pin]"}), *told[1:]]  # type: ignore[union-attr]
    assert Spoiled(write(tmp_path, "run-1", KEY, scrubbed), KEY).verdict().reason == ""


def test_the_opening_event_is_the_first_and_only_one(tmp_path: Path) -> None:
    told = story("run-1")
    twice = Spoiled(write(tmp_path / "twice", "run-1", KEY, [*told[:3], told[0], *told[3:]]), KEY)
    assert found(twice, twice.lines) == ("TAMPERED", 2)
    never = Spoiled(write(tmp_path / "never", "run-1", KEY, told[1:]), KEY)
    assert found(never, never.lines) == ("TAMPERED", 0)


def test_every_recordable_character_can_be_verified(tmp_path: Path) -> None:
    """Each character has a record of its own. DEL, for example, is ASCII but has another canonical form than
    Python's."""
    said = [e.Corrected(reason=f"<{chr(code)}>") for code in (*range(0x180), 0x2028, 0xE000, 0x1F642)]
    trace = Spoiled(write(tmp_path, "run-1", KEY, [story("run-1")[0], *said, story("run-1")[-1]]), KEY)
    assert trace.verdict().reason == ""
    escaped = trace.lines[1 + 0xE9].replace("é".encode(), b"\\u00e9")
    body = escaped.rpartition(b',"signature":')[0] + b"}"
    escaped = body[:-1] + f',"signature":"{KEY.sign(body)}"}}\n'.encode()
    assert found(trace, [*trace.lines[: 1 + 0xE9], escaped]) == ("TAMPERED", 1 + 0xE9), "exactly one form is canonical"


@pytest.mark.parametrize("label", ["plain", "Zoë"])
def test_every_recordable_number_can_be_verified(tmp_path: Path, label: str) -> None:
    numbers: list[float] = [
        0,
        -0.0,
        0.5,
        2**53 - 1,
        1 - 2**53,
        1e16,
        -1e16,
        float(2**53),
        2.0**63,
        1e20,
        1e21,
        1e300,
        5e-324,
    ]
    said = [
        e.Decided(note=None, thought="", tool_name="wait", arguments={"s": number}, label=label) for number in numbers
    ]
    trace = Spoiled(write(tmp_path, "run-1", KEY, [story("run-1")[0], *said, story("run-1")[-1]]), KEY)
    assert trace.verdict().reason == ""


@pytest.mark.parametrize("tail", [b"x", b"\x00x", b'{"at":"\x8a', b'{"at":""}x', b'{"at":"\n'[:-1] + b"\x01", b"[]"])
def test_an_end_that_no_crash_explains_is_tampering(trace: Spoiled, tail: bytes) -> None:
    assert found(trace, [*trace.lines[:-1], tail]) == ("TAMPERED", len(trace.lines) - 1)


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_has_a_verdict(trace: Spoiled, garbage: bytes) -> None:
    for n in (0, 1, 5):
        lines = trace.lines
        assert found(trace, [*lines[:n], garbage + b"\n", *lines[n + 1 :]]) == ("TAMPERED", n)


def test_an_endless_line_is_not_read_completely(trace: Spoiled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.audit.verifier.bundle.LONGEST_LINE", 300_000)
    assert found(trace, [*trace.lines[:4], b"x" * 2_000_000]) == ("TAMPERED", 4)


def test_an_empty_trace_is_incomplete(trace: Spoiled) -> None:
    assert found(trace, []) == ("INCOMPLETE", None)
    trace.path.unlink()
    assert trace.verdict().verdict == "INCOMPLETE"
    assert trace.verdict([], heads=trace.heads(3)).first_bad == 0


def resigned(lines: list[bytes], key: SigningKey, *, change: int = -1) -> list[bytes]:
    """Sign a chain again, as the holder of a key can, with one word changed in one record."""
    made, previous = [], e.FIRST
    for seq, line in enumerate(lines):
        said = json.loads(line)
        del said["signature"]
        said["previous"] = previous
        if seq == change:
            said["event"]["step"] += 1
        if said["event"]["kind"] == "run_opened":
            said["event"]["signed_by"] = key.fingerprint
        body = rfc8785.dumps(said)
        new = rfc8785.dumps(said | {"signature": key.sign(body)})
        previous = hashlib.sha256(new).hexdigest()
        made.append(new + b"\n")
    return made


def test_the_verdict_names_another_signing_key(trace: Spoiled) -> None:
    thief = SigningKey.new()
    verdict = trace.verdict(resigned(trace.lines, thief))
    assert (verdict.verdict, verdict.first_bad) == ("TAMPERED", 0)
    assert thief.fingerprint[:16] in verdict.reason
    assert KEY.fingerprint[:16] in verdict.reason
    mixed = [*trace.lines[:6], *resigned(trace.lines, thief)[6:]]
    assert found(trace, mixed) == ("TAMPERED", 6)


def test_anchors_detect_a_trace_rewritten_with_its_own_key(trace: Spoiled) -> None:
    assert resigned(trace.lines, KEY) == trace.lines
    heads = trace.heads(0, 4, len(trace.lines) - 1)
    assert trace.verdict(heads=heads).verdict == "VALID"
    anew = resigned(trace.lines, KEY, change=6)
    verdict = trace.verdict(anew, heads=heads)
    assert (verdict.verdict, verdict.first_bad) == ("TAMPERED", len(anew) - 1)
    assert "after record 4" in verdict.reason
    assert trace.verdict(resigned(trace.lines, KEY, change=2), heads=heads).first_bad == 4


def test_anchors_detect_a_rolled_back_or_truncated_trace(trace: Spoiled) -> None:
    heads = trace.heads(0, 7)
    for end in range(len(trace.lines)):
        verdict = trace.verdict(trace.lines[:end], heads=heads)
        assert (verdict.verdict, verdict.first_bad) == (("TAMPERED", end) if end < 8 else ("INCOMPLETE", None))
    closed_early = resigned([*trace.lines[:3], trace.lines[-1]], KEY)
    closed_early = resigned([line.replace(b'"seq":10', b'"seq":3') for line in closed_early], KEY)
    assert trace.verdict(closed_early).verdict == "VALID", "the holder of the key can do this if no head is anchored"
    assert trace.verdict(closed_early, heads=heads).first_bad == 4


def test_an_anchor_of_another_key_is_reported(trace: Spoiled) -> None:
    verdict = trace.verdict(heads=trace.heads(3, key=SigningKey.new()))
    assert (verdict.verdict, verdict.first_bad) == ("TAMPERED", None)
    assert "line 1 of" in verdict.reason


def test_two_heads_for_one_record_are_tampering(trace: Spoiled) -> None:
    heads = trace.heads(5)
    trace.lines = resigned(trace.lines, KEY, change=2)
    for seq, digests in trace.heads(5).by_sequence.items():
        heads.by_sequence[seq] |= digests
    assert trace.verdict(trace.lines, heads=heads).first_bad == 5


def test_torn_anchors_and_anchors_of_other_runs_are_ignored(trace: Spoiled, tmp_path: Path) -> None:
    mine = trace._anchor(5, 6, None)
    path = tmp_path / "heads.jsonl"
    path.write_bytes(
        mine[:40] + b"\n" + b"\xff\n" + mine.replace(b"run-1", b"run-9") + b"x" * 9000 + b"\n" + mine + mine[:9]
    )
    heads = Heads("run-1")
    heads.read(str(path), trace.public)
    assert (heads.newest_sequence, heads.signature_error) == (5, "")


def in_segments(trace: Spoiled, *ends: int) -> Path:
    """Return the trace in the form of a bucket."""
    events = trace.folder / "events"
    events.mkdir()
    start = 0
    for end in ends:
        (events / f"{start:08d}-{end - 1:08d}.jsonl").write_bytes(b"".join(trace.lines[start:end]))
        start = end
    trace.path.unlink()
    return events


def test_a_copy_of_a_bucket_is_checked_segment_by_segment(trace: Spoiled) -> None:
    events = in_segments(trace, 5, len(trace.lines))
    assert trace.verdict().verdict == "VALID"
    first, second = sorted(events.iterdir())
    for name, data, bad in [
        ("00000000-00000002.jsonl", b"".join(trace.lines[:3]), 3),
        ("00000002-00000004.jsonl", b"".join(trace.lines[2:5]), 5),
        ("zz", b"", len(trace.lines)),
        ("00000005-00000004.jsonl", b"", 5),
        ("0000000٥-00000010.jsonl", b"".join(trace.lines[5:]), len(trace.lines)),
    ]:
        (events / name).write_bytes(data)
        assert (trace.verdict().verdict, trace.verdict().first_bad) == ("TAMPERED", bad), name
        (events / name).unlink()
    data = first.read_bytes()
    for spoiled, bad in [(data[:-1], 4), (data[:-30], 4), (b"".join(trace.lines[:4]), 4), (data + trace.lines[5], 5)]:
        first.write_bytes(spoiled)
        assert (trace.verdict().verdict, trace.verdict().first_bad) == ("TAMPERED", bad)
    first.unlink()
    assert trace.verdict().first_bad == 0
    first.write_bytes(data)
    second.unlink()
    assert trace.verdict().verdict == "INCOMPLETE"


def test_files_of_a_file_manager_are_noted(trace: Spoiled) -> None:
    (in_segments(trace, 5, len(trace.lines)) / ".DS_Store").touch()
    verdict = trace.verdict()
    assert verdict.verdict == "VALID"
    assert ".DS_Store" in verdict.notes[0]
    folder_marker = InMemory("run-1", {f"events/{p.name}": p.read_bytes() for p in (trace.folder / "events").iterdir()})
    folder_marker.files |= {"events/": b"", "frames/": b"", **trace.pictures}
    folder_marker.in_segments = True
    assert verifier.verify(folder_marker, trace.public, Heads("run-1")).verdict == "VALID"


def test_records_that_are_not_uploaded_yet_are_no_tampering(trace: Spoiled) -> None:
    heads = trace.heads(2, len(trace.lines) - 1, delivered=3)
    in_segments(trace, 5)
    bundle = open_bundle(str(trace.folder))
    assert verifier.verify(bundle, trace.public, heads).verdict == "INCOMPLETE"
    assert "not uploaded yet" in verifier.verify(bundle, trace.public, heads).reason
    heads.from_this_machine = True
    assert "spool" in verifier.verify(bundle, trace.public, heads, spooled=True).reason
    assert verifier.verify(bundle, trace.public, heads, spooled=True).verdict == "INCOMPLETE"
    assert verifier.verify(bundle, trace.public, heads).first_bad == 5  # the recording machine has no more records
    heads.delivered = 7
    assert verifier.verify(bundle, trace.public, heads, spooled=True).first_bad == 5


def test_a_required_head_that_is_missing_makes_it_incomplete(trace: Spoiled, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    heads = Heads("run-1")
    heads.read(str(tmp_path / "none.jsonl"), trace.public)
    verdict = verifier.verify(open_bundle(str(trace.folder)), trace.public, heads, insist=True)
    assert (verdict.verdict, verdict.anchored) == ("INCOMPLETE", None)
    assert "none.jsonl" in verdict.reason


def test_unnamed_pictures_are_noted(trace: Spoiled) -> None:
    (trace.folder / "frames" / f"{'a' * 64}.jpg").write_bytes(b"kept before a crash")
    (trace.folder / "frames" / ".torn.part").touch()
    verdict = trace.verdict()
    assert verdict.verdict == "VALID"
    assert "1 of the files in frames" in verdict.notes[0]


def test_another_picture_under_the_same_digest_is_tampering(trace: Spoiled) -> None:
    (path,) = (trace.folder / "frames").glob(f"{picture('run-1 after 1').sha256}.*")
    path.with_suffix(".png").write_bytes(b"another")
    verdict = trace.verdict()
    assert (verdict.verdict, verdict.first_bad) == ("TAMPERED", 4)


def test_every_field_that_names_a_picture_is_checked() -> None:
    """New events that name pictures must be added to the verifier. Files have a check of their own."""
    for kind in {*e.Event.__subclasses__()} - {e.FileGiven, e.FileArrived}:
        names = {"sha256", "shots", "strip", "before", "after"} & set(kind.model_fields)
        given = {name: ["d"] if name == "shots" else "d" for name in names}
        event = kind.model_construct(**given)
        assert bool(names) == bool(verifier.pictures(event)), kind  # type: ignore[arg-type]
        assert len(verifier.pictures(event)) == len(names), kind  # type: ignore[arg-type]


ALONE = """
import sys
from holo_tasks.audit.verifier.bundle import open_bundle
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.audit.verifier.verify import verify
print(verify(open_bundle(sys.argv[1]), PublicKey(sys.argv[2].encode()), Heads("run-1")).verdict)
print(*(name for name in sys.modules if name.startswith("holo_tasks.")))
"""


def test_the_verifier_imports_only_the_schema_of_the_writer(trace: Spoiled) -> None:
    command = [sys.executable, "-c", ALONE, str(trace.folder), KEY.public_pem]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    verdict, loaded = subprocess.check_output(command, text=True, env=environment).splitlines()
    assert verdict == "VALID"
    assert {name.removeprefix("holo_tasks.") for name in loaded.split()} == {
        "audit", "audit.verifier", "audit.verifier.verify", "audit.verifier.bundle", "audit.verifier.heads",
        "audit.verifier.public_key", "audit.errors", "core", "core.errors", "core.events", "core.moved_modules",
        "core.paths",
    }  # fmt: skip


class Gullible(PublicKey):
    """Mutant that trusts the key contained in the trace."""

    def signed(self, line: bytes) -> bool:
        return True


def test_a_verifier_that_trusts_the_trace_is_detected(trace: Spoiled) -> None:
    """It checks the chain without signatures, and accepts traces that the tests above call tampered."""
    thief = SigningKey.new()
    trace.path.write_bytes(b"".join(resigned(trace.lines, thief)))
    bundle = open_bundle(str(trace.folder))
    gullible = Gullible(thief.public_pem.encode())
    assert verifier.verify(bundle, gullible, Heads("run-1")).verdict == "VALID"
    assert verifier.verify(bundle, trace.public, Heads("run-1")).verdict == "TAMPERED"


@pytest.fixture
def public(tmp_path: Path) -> Path:
    path = tmp_path / "public.pem"
    path.write_text(KEY.public_pem)
    return path


@pytest.mark.parametrize("run", [r"\ud800", "../run-1", "", "x" * 200])
def test_an_invalid_run_id_has_a_verdict(trace: Spoiled, tmp_path: Path, public: Path, run: str) -> None:
    trace.path.write_bytes(b"".join(trace.lines).replace(b'"run":"run-1"', f'"run":"{run}"'.encode()))
    (tmp_path / "anchors.jsonl").write_bytes(b"of other runs\n")
    verdict = verify_trace(str(trace.folder), public, None, tmp_path, {})
    assert (verdict.verdict, verdict.first_bad) == ("TAMPERED", 0)


def test_a_folder_with_any_name_has_a_verdict(trace: Spoiled, tmp_path: Path, public: Path) -> None:
    (tmp_path / "anchors.jsonl").write_bytes(trace._anchor(0, 1, None))
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    trace.folder.rename(odd)
    verdict = verify_trace(str(odd), public, None, tmp_path, {})
    assert (verdict.verdict, verdict.anchored and verdict.anchored["heads"]) == ("VALID", 1)
    assert verify_trace(f"{odd}/frames/..", public, None, tmp_path, {}).notes == verdict.notes
    trace.path.unlink(missing_ok=True)
    (odd / "events.jsonl").write_bytes(b"{}\n")
    assert verify_trace(str(odd), public, None, tmp_path, {}).verdict == "TAMPERED"


def test_a_missing_list_of_heads_makes_the_trace_incomplete(
    trace: Spoiled, tmp_path: Path, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verifier reads the path that a run writes to: ``~`` is expanded for both."""
    monkeypatch.setenv("HOME", str(tmp_path))
    asked = (str(trace.folder), public, None, tmp_path / "home", {"HOLO_ANCHORS": "~/kept.jsonl"})
    verdict = verify_trace(*asked)
    assert (verdict.verdict, verdict.first_bad) == ("INCOMPLETE", None)
    assert f"{tmp_path}/kept.jsonl was given but does not exist" in verdict.reason
    (tmp_path / "kept.jsonl").write_bytes(trace._anchor(3, 4, None))
    assert verify_trace(*asked).anchored == {
        "heads": 1, "last": 3, "delivered": 4, "where": [str(tmp_path / "kept.jsonl")],
    }  # fmt: skip


def test_missing_paths_are_refused_in_one_line(trace: Spoiled, tmp_path: Path, public: Path) -> None:
    """An overlong name replaces a permission error, which does not occur when tests run as root."""
    folder, long = str(trace.folder), "x" * 300
    nobody = "~nosuchuser/x"
    for given, environ, home in (
        ((nobody, public, None), {}, tmp_path),
        ((folder, Path(nobody), None), {}, tmp_path),
        ((folder, public, nobody), {}, tmp_path),
        ((folder, public, None), {"HOLO_ANCHORS": nobody}, tmp_path),
        ((long, public, None), {}, tmp_path),
        ((folder, public, None), {"HOLO_ANCHORS": f"/{long}"}, tmp_path),
        ((folder, public, None), {}, tmp_path / long),
    ):
        with pytest.raises(InvalidUsage) as refused:
            verify_trace(*given, home, environ)
        assert "\n" not in str(refused.value)


def test_the_folder_of_all_runs_names_the_last_of_them(tmp_path: Path) -> None:
    for name in ("20261121-101500-ab12cd34", "20261122-090000-77aa00ff"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "events.jsonl").touch()
    for read in (FolderBundle, FolderTrace):
        with pytest.raises(InvalidUsage, match=r"contains 2 run\(s\).*such as .*/20261122-090000-77aa00ff$"):
            read(tmp_path / "runs")
        with pytest.raises(InvalidUsage, match=r"it has no events\.jsonl$"):
            read(tmp_path)
