"""Find all traces below a folder or a bucket prefix, and read the facts that an overview needs.

`read_traces` is used by `holo-tasks index` and `holo-tasks export`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.audit.errors import StoreTrouble
from holo_tasks.audit.pages.run_view import MAX_STORY_BYTES, Story, StoryBuilder
from holo_tasks.audit.reader import BucketTrace, FolderTrace, Trace, check_lines
from holo_tasks.audit.stores import S3, Destination, Folder
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import Record
from holo_tasks.core.paths import is_folder

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Bucket

MAX_DEPTH = 8
"""How many levels of folders below the given one are searched."""
_QUOTED = re.compile(r"‘[^’]*(?:’(?=\w)[^’]*)*’|“[^”]*”|(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"")
"""Quoted text. An apostrophe inside a word is not a quotation mark."""
_HANDOFF = re.compile(r"(?<=hand-off )\w{4}-\w{4}\b", re.IGNORECASE)
_PLACE = re.compile(r"\w+://\S+|(?<!\w)/[\w./-]+|\b[0-9a-f]{8}[0-9a-f-]{8,}\b")
_NUMBER = re.compile(r"(?<!HTTP )(?<![\w-])(?=(?:[^\W\d_]|-)*+\d)(?:[^\W_]|-)++(?!\w)(?:[.,:]\d+)*")
"""A number together with the word that contains it. A name with underscores does not count."""
MAX_REASON = 1_000
"""Characters of a reason that are compared when reasons are counted. Normalizing longer text would take too long."""


@dataclass(frozen=True)
class ReadTrace:
    """A trace that was read once: its story as far as it could be read, and its damage. ``damage`` is empty if it is
    intact."""

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
        """Why the run did not end in an answer, as recorded. Empty if it did."""
        if self.story.status == "answered":
            return ""
        reason = self.story.closed.reason if self.story.closed else "the run did not record its end"
        return self.story.kills[-1] if self.story.kills else reason

    @property
    def steps(self) -> int:
        return self.story.closed.steps if self.story.closed else len(self.story.steps)

    @property
    def cost_micro_usd(self) -> int | None:
        """The run's cost, or ``None`` if it is unknown."""
        return self.story.closed.cost_micro_usd if self.story.closed else self.story.cost_micro_usd


def read_traces(where: str) -> Iterator[ReadTrace]:
    """Read every trace below a folder or ``s3://BUCKET/PREFIX``, one at a time, in the order of their names.

    An unreadable trace is returned with its damage. Raises `InvalidUsage` if the place itself cannot be read.
    """
    for uri, trace in _traces(where):
        yield _read_trace(uri, trace)


def failure_kind(reason: str) -> str:
    """Return a reason without numbers, quotes, paths and ids, so that equal kinds of failures can be counted."""
    flat = " ".join(reason[:MAX_REASON].split())
    for pattern in (_QUOTED, _PLACE, _HANDOFF, _NUMBER):
        flat = pattern.sub("…", flat)
    return flat[:120] + ("…" if len(flat) > 120 else "")


def _traces(where: str) -> Iterator[tuple[str, Trace | str]]:
    match Destination.parse(where):
        case Folder(path):
            if not is_folder(path):
                raise InvalidUsage(f"{where!r} is not a folder: give one that holds traces, or s3://BUCKET/PREFIX.")
            if not os.access(path, os.R_OK | os.X_OK):
                raise InvalidUsage(f"{where!r} may not be read: get permission, or give another folder.")
            yield from _find_in_folder(path)
        case S3() as place:
            yield from _find_in_bucket(place)


def _find_in_folder(top: Path) -> Iterator[tuple[str, Trace | str]]:
    unreadable: list[OSError] = []
    for folder, subfolders, names in os.walk(top, onerror=unreadable.append):
        yield from _report_unreadable(unreadable)
        current = Path(folder)
        if "events.jsonl" in names:
            subfolders.clear()
            try:
                trace = FolderTrace(current)
            except (InvalidUsage, OSError) as error:
                yield str(current), str(error)
            else:
                yield str(current), trace
        elif len(current.relative_to(top).parts) >= MAX_DEPTH:
            subfolders.clear()
        else:
            subfolders.sort()
    yield from _report_unreadable(unreadable)


def _report_unreadable(unreadable: list[OSError]) -> Iterator[tuple[str, str]]:
    """Yield each folder that could not be read, once, since it may hold traces. Empties the list."""
    while unreadable:
        error = unreadable.pop(0)
        yield str(error.filename), f"it cannot be read: {error.strerror}"


def _find_in_bucket(place: S3) -> Iterator[tuple[str, Trace | str]]:
    from holo_tasks.audit.s3 import Bucket

    try:
        bucket = Bucket(place.place, place.keys, connect_s=3, read_s=20, attempts=3)
        try:
            yield from _find_below(bucket, "", MAX_DEPTH)
        finally:
            bucket.close()
    except StoreTrouble as trouble:
        raise InvalidUsage(str(trouble)) from trouble


def _find_below(bucket: Bucket, path: str, levels: int) -> Iterator[tuple[str, Trace | str]]:
    prefix = bucket.place.key(path)
    names = list(bucket.folders(prefix))
    if "events" in names:
        uri = f"s3://{bucket.place.bucket}/{prefix.strip('/')}"
        try:
            yield uri, BucketTrace(bucket, path.rstrip("/"))
        except InvalidUsage as error:
            yield uri, str(error)
    elif levels:
        for name in names:
            yield from _find_below(bucket, f"{path}{name}/", levels - 1)


def _read_trace(uri: str, trace: Trace | str) -> ReadTrace:
    builder = StoryBuilder()
    if isinstance(trace, str):
        return ReadTrace(uri, None, builder.story, trace)

    size = 0

    def tell(record: Record) -> None:
        if size <= MAX_STORY_BYTES:
            builder.add(record)

    def read(lines: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal size
        for line in lines:
            size += len(line)
            yield line

    try:
        chain = check_lines(read(trace.lines()), tell)
    except (OSError, StoreTrouble) as error:
        return ReadTrace(uri, trace, builder.story, f"it cannot be read: {error}")
    if size > MAX_STORY_BYTES:
        return ReadTrace(uri, trace, builder.story, f"it has {size:,} bytes of events, too many for an overview")
    damage = "" if chain.whole else f"record {chain.first_bad} {chain.reason}"
    return ReadTrace(uri, trace, builder.story, damage if chain.records or damage else "it holds no record")
