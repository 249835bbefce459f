"""Many runs: finding their traces in a folder or a bucket, and what an overview wants to know of each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.audit.errors import StoreTrouble
from holo_tasks.audit.pages.run_view import MOST_TOLD, Story, Teller
from holo_tasks.audit.reader import BucketTrace, FolderTrace, Trace, check_lines
from holo_tasks.audit.stores import S3, Destination, Folder
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import Record
from holo_tasks.core.paths import is_folder

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Bucket

DEEPEST = 8
"""So many folders below the one that was named are looked into."""
_QUOTED = re.compile(r"‘[^’]*(?:’(?=\w)[^’]*)*’|“[^”]*”|(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"")
"""An apostrophe inside a word is no quotation mark."""
_HANDOFF = re.compile(r"(?<=hand-off )\w{4}-\w{4}\b", re.IGNORECASE)
_PLACE = re.compile(r"\w+://\S+|(?<!\w)/[\w./-]+|\b[0-9a-f]{8}[0-9a-f-]{8,}\b")
_NUMBER = re.compile(r"(?<!HTTP )(?<![\w-])(?=(?:[^\W\d_]|-)*+\d)(?:[^\W_]|-)++(?!\w)(?:[.,:]\d+)*")
"""With the word that it is in; a name with underscores is no number."""
MOST_READ = 1_000
"""Of a reason, as like ones are counted: a longer one would take long, and is told apart by how it begins."""


@dataclass(frozen=True)
class Gathered:
    """A trace, read once: its story as far as it could be read, and what is wrong with it (empty: nothing)."""

    uri: str
    trace: Trace | None
    story: Story
    damage: str

    @property
    def run_id(self) -> str:
        return self.story.opened.run_id if self.story.opened else self.uri.rstrip("/").rpartition("/")[2]

    @property
    def title(self) -> str:
        return self.story.opened.title if self.story.opened else self.run_id

    @property
    def reason(self) -> str:
        """Why it did not come to an answer, in its own words."""
        if self.story.status == "answered":
            return ""
        said = self.story.closed.reason if self.story.closed else "the run did not record its end"
        return self.story.kills[-1] if self.story.kills else said

    @property
    def steps(self) -> int:
        return self.story.closed.steps if self.story.closed else len(self.story.steps)

    @property
    def cost_micro_usd(self) -> int | None:
        """What it cost; None where the run closed without knowing."""
        return self.story.closed.cost_micro_usd if self.story.closed else self.story.cost_micro_usd


def gather(where: str) -> Iterator[Gathered]:
    """Read every trace below a folder or ``s3://BUCKET/PREFIX``, one at a time, in the order of their names.

    What cannot be read is given with its damage. Raises `InvalidUsage` if the place itself cannot be read.
    """
    for uri, trace in _traces(where):
        yield _read(uri, trace)


def normalized(reason: str) -> str:
    """A reason without what differs from run to run, so that like ones can be counted."""
    flat = " ".join(reason[:MOST_READ].split())
    for odd in (_QUOTED, _PLACE, _HANDOFF, _NUMBER):
        flat = odd.sub("…", flat)
    return flat[:120] + ("…" if len(flat) > 120 else "")


def _traces(where: str) -> Iterator[tuple[str, Trace | str]]:
    match Destination.parse(where):
        case Folder(path):
            if not is_folder(path):
                raise InvalidUsage(f"{where!r} is no folder: give one that holds traces, or s3://BUCKET/PREFIX.")
            if not os.access(path, os.R_OK | os.X_OK):
                raise InvalidUsage(f"{where!r} may not be read: get the right to, or give another folder.")
            yield from _in_folder(path)
        case S3() as place:
            yield from _in_bucket(place)


def _in_folder(top: Path) -> Iterator[tuple[str, Trace | str]]:
    shut: list[OSError] = []
    for folder, below, names in os.walk(top, onerror=shut.append):
        yield from _told(shut)
        here = Path(folder)
        if "events.jsonl" in names:
            below.clear()
            try:
                trace = FolderTrace(here)
            except (InvalidUsage, OSError) as error:
                yield str(here), str(error)
            else:
                yield str(here), trace
        elif len(here.relative_to(top).parts) >= DEEPEST:
            below.clear()
        else:
            below.sort()
    yield from _told(shut)


def _told(shut: list[OSError]) -> Iterator[tuple[str, str]]:
    """Give each folder that could not be looked into, once: there may be traces in it."""
    while shut:
        error = shut.pop(0)
        yield str(error.filename), f"it cannot be read: {error.strerror}"


def _in_bucket(place: S3) -> Iterator[tuple[str, Trace | str]]:
    from holo_tasks.audit.s3 import Bucket

    try:
        bucket = Bucket(place.place, place.keys, connect_s=3, read_s=20, attempts=3)
        try:
            yield from _below(bucket, "", DEEPEST)
        finally:
            bucket.close()
    except StoreTrouble as trouble:
        raise InvalidUsage(str(trouble)) from trouble


def _below(bucket: Bucket, path: str, deep: int) -> Iterator[tuple[str, Trace | str]]:
    prefix = bucket.place.key(path)
    names = list(bucket.folders(prefix))
    if "events" in names:
        uri = f"s3://{bucket.place.bucket}/{prefix.strip('/')}"
        try:
            yield uri, BucketTrace(bucket, path.rstrip("/"))
        except InvalidUsage as error:
            yield uri, str(error)
    elif deep:
        for name in names:
            yield from _below(bucket, f"{path}{name}/", deep - 1)


def _read(uri: str, trace: Trace | str) -> Gathered:
    teller = Teller()
    if isinstance(trace, str):
        return Gathered(uri, None, teller.story, trace)

    size = 0

    def tell(record: Record) -> None:
        if size <= MOST_TOLD:
            teller.add(record)

    def read(lines: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal size
        for line in lines:
            size += len(line)
            yield line

    try:
        chain = check_lines(read(trace.lines()), tell)
    except (OSError, StoreTrouble) as error:
        return Gathered(uri, trace, teller.story, f"it cannot be read: {error}")
    if size > MOST_TOLD:
        return Gathered(uri, trace, teller.story, f"it has {size:,} bytes of events, too many for an overview")
    damage = "" if chain.whole else f"record {chain.first_bad} {chain.reason}"
    return Gathered(uri, trace, teller.story, damage if chain.records or damage else "it holds no record")
