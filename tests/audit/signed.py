"""A small signed trace with pictures, and ways to tamper with it. Tampering works on lists of lines, in a folder."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import rfc8785

from holo_tasks.audit.keys import SigningKey
from holo_tasks.audit.trace import LocalTrace
from holo_tasks.audit.verifier.bundle import Bundle, open_bundle
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.audit.verifier.verify import Verdict, verify
from holo_tasks.core import events as e
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Size

AT = "2026-01-01T00:00:00.000000Z"
SCREEN = Size(4, 3)


def picture(text: str) -> Shot:
    """Return a tiny file that is used as a picture: the verifier reads its bytes only."""
    data = f"picture of {text}".encode()
    return Shot(data, "image/jpeg", hashlib.sha256(data).hexdigest(), SCREEN, SCREEN, f"frame of {text}")


def story(run_id: str, *, steps: int = 2) -> list[e.Event | Shot]:
    """Yield a run of a few steps in recording order: each picture comes before the record that names it."""
    before = picture(f"{run_id} at first")
    told: list[e.Event | Shot] = [
        e.RunOpened(run_id=run_id, title="Zoë’s run", library="prefect-holo"),
        before,
        _frame(1, before),
    ]
    for step in range(1, steps + 1):
        after = picture(f"{run_id} after {step}")
        told += [
            _request(step, before),
            e.Decided(
                subgoal=1, step=step, note=None, thought="Wait.", tool_name="wait", arguments={"s": 0.5}, label=""
            ),
            after,
            _frame(step, after),
            e.Judged(
                subgoal=1,
                step=step,
                outcome="changed",
                before=before.sha256,
                after=after.sha256,
                changed_box=[0, 0, 1, 1],
            ),
        ]
        before = after
    told.append(e.RunClosed(status="answered", answer="42", steps=steps, cost_micro_usd=7))
    return told


def _frame(step: int, shot: Shot) -> e.FrameTaken:
    return e.FrameTaken(
        subgoal=1, step=step, sha256=shot.sha256, media_type=shot.media_type, size_bytes=len(shot.data),
        sent_width=4, sent_height=3, screen_width=4, screen_height=3, frame_digest=shot.frame_digest, masks=[],
        settled=True, settle_us=0, quiet_us=0, capture_us=0, encode_us=0,
    )  # fmt: skip


def _request(step: int, shot: Shot) -> e.RequestSent:
    return e.RequestSent(
        subgoal=1, step=step, attempt=1, model="m", endpoint="http://x", shots=[shot.sha256], messages=2,
        prompt_sha256="0" * 64,
    )  # fmt: skip


def write(root: Path, run_id: str, key: SigningKey, told: Sequence[e.Event | Shot] | None = None) -> Path:
    """Record a story as a run does. Return its folder."""
    trace = LocalTrace.open(root, run_id, key)
    for what in told if told is not None else story(run_id):
        if isinstance(what, Shot):
            trace.keep(what)
        else:
            trace.append([(AT, what)])
    trace.close()
    return trace.folder


class Remembering(PublicKey):
    """Public key that caches its checks: thousands of tampered traces differ in one line only."""

    def __init__(self, pem: bytes) -> None:
        super().__init__(pem)
        self.has_signed = functools.cache(super().has_signed)  # type: ignore[method-assign]


class InMemory(Bundle):
    """The files of a trace in memory."""

    in_segments = False

    def __init__(self, name: str, files: dict[str, bytes]) -> None:
        super().__init__(name, name)
        self.files = files

    def names(self, folder: str) -> Iterator[str]:
        yield from sorted(name.removeprefix(f"{folder}/") for name in self.files if name.startswith(f"{folder}/"))

    def pieces(self, name: str) -> Iterator[bytes]:
        if name not in self.files:
            raise FileNotFoundError(name)
        yield self.files[name]


@dataclass
class Spoiled:
    """A trace whose files a test changes, with its verdict."""

    folder: Path
    key: SigningKey

    def __post_init__(self) -> None:
        self.public = Remembering(self.key.public_pem.encode())
        self.path = self.folder / "events.jsonl"
        self.lines = self.path.read_bytes().splitlines(keepends=True)

    def verdict(self, lines: Sequence[bytes] | None = None, *, heads: Heads | None = None) -> Verdict:
        if lines is None:
            bundle = open_bundle(str(self.folder))
        else:
            bundle = InMemory(self.folder.name, self.pictures | {"events.jsonl": b"".join(lines)})
        return verify(bundle, self.public, heads or Heads(bundle.name))

    @functools.cached_property
    def pictures(self) -> dict[str, bytes]:
        return {f"frames/{path.name}": path.read_bytes() for path in (self.folder / "frames").iterdir()}

    def heads(self, *seqs: int, delivered: int | None = None, key: SigningKey | None = None) -> Heads:
        """Return heads of the original trace, anchored in a file and read back."""
        path = self.folder.parent / f"anchors-{len(list(self.folder.parent.iterdir()))}.jsonl"
        path.write_bytes(b"".join(self._anchor(seq, seq + 1 if delivered is None else delivered, key) for seq in seqs))
        heads = Heads(self.folder.name)
        heads.read(str(path), self.public)
        return heads

    def _anchor(self, seq: int, delivered: int, key: SigningKey | None) -> bytes:
        head = hashlib.sha256(self.lines[seq].rstrip(b"\n")).hexdigest()
        said = {"run": self.folder.name, "seq": seq, "head": head, "delivered": delivered, "at": AT}
        return rfc8785.dumps(said | {"signature": (key or self.key).sign(rfc8785.dumps(said))}) + b"\n"
