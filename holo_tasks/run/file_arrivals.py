"""Wait for files to arrive in a shared folder, and copy them once they are complete.

`wait_for_files` polls the folder until the wanted files are there and unchanged. `agent.shared_files` uses it. A file
that looks partial, empty or open for writing is not taken.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from holo_tasks.core.attachment import LARGEST
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.core.texts.file_names import BESIDE, is_partial, matches, safe_name
from holo_tasks.machine import foreign_folder
from holo_tasks.machine.foreign_folder import CopiedFile, Entry, FileVersion

T = TypeVar("T")
LOOK_S, STABLE_S = 0.1, 0.4
"""Seconds between two looks at the folder, and seconds that a file has to stay unchanged."""
MB = 1_000_000
MOST_FILES, MOST_LISTED = 1000, 3


@dataclass(frozen=True)
class ExpectedFiles:
    """The files that a caller waits for.

    Without a ``count`` it is one file. Several files with different contents are then ambiguous.
    """

    pattern: str
    count: int | None
    most_mb: int
    may_be_empty: bool
    keep: bool

    def __post_init__(self) -> None:
        if not self.pattern or "/" in self.pattern or "\0" in self.pattern:
            raise InvalidUsage(f"A pattern matches file names, such as '*.pdf', without folders: {self.pattern!r}.")
        if self.count is not None and not 1 <= self.count <= MOST_FILES:
            raise InvalidUsage(f"count= is from 1 to {MOST_FILES}, not {self.count!r}.")
        if self.most_mb < 1:
            raise InvalidUsage(f"most_mb= is at least 1, not {self.most_mb!r}.")

    def check_size(self, entry: Entry) -> None:
        """Raise `GaveUp` if a file is already larger than ``most_mb``, or too large for the trace."""
        size, name = entry.sign.size, safe_name(entry.name)
        if size > self.most_mb * MB:
            raise GaveUp(f"‘{name}’ has {size} bytes by now; {self.most_mb} MB is the limit: give a larger most_mb.")
        if self.keep and size > LARGEST:
            raise GaveUp(
                f"‘{name}’ has {size} bytes, and the evidence keeps files of up to {LARGEST}: wait for it without "
                "keep, which records its digest, and keep it yourself."
            )

    def incomplete_reason(self, entry: Entry, names: set[str]) -> str:
        """Return the reason why a file is incomplete, or an empty string.

        ``names`` are all files in the folder. The extra file of a browser's download marks a file as incomplete.
        """
        if entry.refusal:
            return entry.refusal
        if any(entry.name + ending in names for ending in BESIDE):
            return "is still being downloaded"
        if not entry.sign.size and not self.may_be_empty:
            return "is empty"
        return ""


@dataclass(frozen=True)
class Arrived:
    """A file of the folder and its copy on the agent's side."""

    entry: Entry
    copied: CopiedFile


@dataclass
class FolderWatch:
    """Observations of the folder while a caller waits.

    ``since_s`` has the sign of each file and when it was first seen. ``reasons`` has why each new file was not taken.
    """

    wanted: ExpectedFiles
    known: dict[str, FileVersion]
    since_s: dict[str, tuple[FileVersion, float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def ready(self, found: list[Entry], now_s: float) -> list[Entry]:
        """Return the new files that match the pattern and seem complete; record the reason for each other one.

        Raises `GaveUp` for a matching file that is too large.
        """
        new = [one for one in found if self.known.get(one.name) != one.sign]
        names = {one.name for one in found}
        self.reasons = {one.name: "is still being written" for one in new if is_partial(one.name)}
        ready = []
        for one in new:
            if not matches(one.name, self.wanted.pattern):
                if not (one.name.startswith(".") or one.refusal):
                    self.reasons.setdefault(one.name, "does not fit")
                continue
            self.wanted.check_size(one)
            sign, since_s = self.since_s.get(one.name, (None, now_s))
            if sign != one.sign:
                self.since_s[one.name] = one.sign, (since_s := now_s)
            if why := self.wanted.incomplete_reason(one, names) or (
                "" if now_s - since_s >= STABLE_S else "keeps changing"
            ):
                self.reasons[one.name] = why
            else:
                ready.append(one)
        return ready

    def mark_open(self, one: Entry) -> None:
        """Record that a file was open for writing, or was written to during the copy."""
        self.reasons[one.name] = "is open for writing"

    def summary(self) -> str:
        """Return a sentence that lists up to three files with the reason why each was not taken."""
        if not self.reasons:
            return "Nothing came."
        some = [f"‘{safe_name(name)}’ {why}" for name, why in sorted(self.reasons.items())[:MOST_LISTED]]
        more = len(self.reasons) - len(some)
        return "; ".join(some) + (f"; and {more} more." if more else ".")


async def wait_for_files(
    shared: SharedFolder, wanted: ExpectedFiles, known: dict[str, FileVersion], place: Path, timeout_s: float
) -> list[Arrived]:
    """Wait until the wanted files are complete, and return them with their copies in ``place``.

    Copies of an unsuccessful look are deleted. Raises `GaveUp` after ``timeout_s`` seconds, for a file that is too
    large, for ambiguous files, or if the folder has too many entries.
    """
    loop, watch = asyncio.get_running_loop(), FolderWatch(wanted, known)
    end_s = loop.time() + timeout_s
    while True:
        try:
            found = await asyncio.to_thread(list_files, shared)
        except foreign_folder.TooManyEntries:
            raise GaveUp(
                f"There are more than {foreign_folder.MOST_ENTRIES} files in {shared.path}, too many to search: have "
                "the program save into a folder of its own."
            ) from None
        ready = watch.ready(found, loop.time())
        if len(ready) >= (wanted.count or 1) and (arrived := await _copies(shared, ready, place, watch)):
            return arrived
        if loop.time() >= end_s:
            subject = f"{wanted.count} files that fit" if wanted.count else "No file that fits"
            verb = "were not all" if wanted.count else "was"
            raise GaveUp(
                f"{subject} {wanted.pattern!r} {verb} complete within {timeout_s:g} seconds. {watch.summary()}"
            )
        await asyncio.sleep(LOOK_S)


async def _copies(shared: SharedFolder, ready: list[Entry], place: Path, watch: FolderWatch) -> list[Arrived]:
    """Copy the ready files and return them if they are all that is wanted; else delete the copies and return [].

    Raises `GaveUp` if the files are ambiguous.
    """
    wanted, copied = watch.wanted, list[Arrived]()
    if wanted.count is not None and len(ready) > wanted.count:
        raise _ambiguous(wanted, ready)
    taken: list[Arrived] = []
    try:
        for one in ready:
            try:
                found = await _in_thread(lambda stop, one=one: _copy_file(shared, one, place, stop))  # type: ignore[misc]
            except foreign_folder.UnfinishedFile:
                watch.mark_open(one)
                continue
            copied.append(Arrived(one, found))
        if wanted.count is None and len({one.copied.sha256 for one in copied}) > 1:
            raise _ambiguous(wanted, [one.entry for one in copied])
        if wanted.count is not None:
            taken = copied if len(copied) == wanted.count else []
        elif copied:
            taken = copied[:1]
            watch.known |= {one.entry.name: one.entry.sign for one in copied[1:]}
        return taken
    finally:
        for left in copied:
            if left not in taken:
                left.copied.path.unlink(missing_ok=True)


def _ambiguous(wanted: ExpectedFiles, ready: list[Entry]) -> GaveUp:
    names = ", ".join(f"‘{safe_name(one.name)}’" for one in ready[:MOST_LISTED])
    return GaveUp(
        f"{len(ready)} different files fit {wanted.pattern!r} ({names}{', …' if len(ready) > MOST_LISTED else ''}), "
        "and it is not clear which is meant: give a narrower pattern, or wait_all(…, count=…)."
    )


async def _in_thread(work: Callable[[threading.Event], T]) -> T:
    """Run ``work`` in a thread, and set its stop event as soon as the caller no longer waits."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


def _copy_file(shared: SharedFolder, entry: Entry, place: Path, stop: threading.Event) -> CopiedFile:
    try:
        with foreign_folder.opened(shared) as folder:
            return foreign_folder.copy_out(folder, entry, place, safe_name(entry.name), stop)
    except OSError as error:
        raise GaveUp(
            f"‘{safe_name(entry.name)}’ cannot be taken into {place}: {error.strerror}. Free some space there, or let "
            "the agent read what its programs save."
        ) from None


def list_files(shared: SharedFolder) -> list[Entry]:
    with foreign_folder.opened(shared) as folder:
        return foreign_folder.entries(folder)
