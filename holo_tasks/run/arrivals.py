"""Waiting until files in a shared folder are whole: what fits, what is still being written, what is in doubt."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from holo_tasks.core.attachment import LARGEST
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.file_names import BESIDE, is_meant, is_partial, safe_name
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.machine import foreign_folder
from holo_tasks.machine.foreign_folder import Copied, Entry, Sign

T = TypeVar("T")
LOOK_S, STABLE_S = 0.1, 0.4
"""How often is looked, and for how long a file has to stay as it is."""
MB = 1_000_000
MOST_FILES, MOST_TOLD = 1000, 3


@dataclass(frozen=True)
class Wanted:
    """What is waited for. Without a ``count`` it is one file, and those of other bytes beside it are in doubt."""

    pattern: str
    count: int | None
    most_mb: int
    may_be_empty: bool
    keep: bool

    def __post_init__(self) -> None:
        if not self.pattern or "/" in self.pattern or "\0" in self.pattern:
            raise InvalidUsage(f"A pattern is of file names, such as '*.pdf', and has no folders: {self.pattern!r}.")
        if self.count is not None and not 1 <= self.count <= MOST_FILES:
            raise InvalidUsage(f"count= is from 1 to {MOST_FILES}, not {self.count!r}.")
        if self.most_mb < 1:
            raise InvalidUsage(f"most_mb= is at least 1, not {self.most_mb!r}.")

    def check_size(self, entry: Entry) -> None:
        """Raise `GaveUp` for a file that is too large already."""
        size, name = entry.sign.size, safe_name(entry.name)
        if size > self.most_mb * MB:
            raise GaveUp(f"‘{name}’ has {size} bytes by now; {self.most_mb} MB is the limit: give a larger most_mb.")
        if self.keep and size > LARGEST:
            raise GaveUp(
                f"‘{name}’ has {size} bytes, and the evidence keeps files of up to {LARGEST}: wait for it without "
                "keep, which records its digest, and keep it yourself."
            )

    def lacks(self, entry: Entry, names: set[str]) -> str:
        """Say why a file is not whole, by its name and what is known of it; nothing if it may be."""
        if entry.refusal:
            return entry.refusal
        if any(entry.name + ending in names for ending in BESIDE):
            return "is still being downloaded"
        if not entry.sign.size and not self.may_be_empty:
            return "is empty"
        return ""


@dataclass(frozen=True)
class Arrived:
    entry: Entry
    copied: Copied


@dataclass
class Watch:
    """What was seen of the folder: since when each file is as it is, and why none of those that fit was taken."""

    wanted: Wanted
    known: dict[str, Sign]
    since_s: dict[str, tuple[Sign, float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def ready(self, found: list[Entry], now_s: float) -> list[Entry]:
        """Return what fits and may be whole."""
        new = [one for one in found if self.known.get(one.name) != one.sign]
        names = {one.name for one in found}
        self.reasons = {one.name: "is still being written" for one in new if is_partial(one.name)}
        ready = []
        for one in new:
            if not is_meant(one.name, self.wanted.pattern):
                if not (one.name.startswith(".") or one.refusal):
                    self.reasons.setdefault(one.name, "does not fit")
                continue
            self.wanted.check_size(one)
            sign, since_s = self.since_s.get(one.name, (None, now_s))
            if sign != one.sign:
                self.since_s[one.name] = one.sign, (since_s := now_s)
            if why := self.wanted.lacks(one, names) or ("" if now_s - since_s >= STABLE_S else "keeps changing"):
                self.reasons[one.name] = why
            else:
                ready.append(one)
        return ready

    def notwhole(self, one: Entry) -> None:
        """Note that somebody has a file open to write, or wrote to it as it was copied."""
        self.reasons[one.name] = "is open to be written"

    def told(self) -> str:
        """Say what was seen instead of what was waited for."""
        if not self.reasons:
            return "Nothing came."
        some = [f"‘{safe_name(name)}’ {why}" for name, why in sorted(self.reasons.items())[:MOST_TOLD]]
        more = len(self.reasons) - len(some)
        return "; ".join(some) + (f"; and {more} more." if more else ".")


async def whole(
    shared: SharedFolder, wanted: Wanted, known: dict[str, Sign], place: Path, timeout_s: float
) -> list[Arrived]:
    """Wait until what is wanted is there and whole, and return it, copied; each look leaves nothing behind."""
    loop, watch = asyncio.get_running_loop(), Watch(wanted, known)
    end_s = loop.time() + timeout_s
    while True:
        try:
            found = await asyncio.to_thread(listed, shared)
        except foreign_folder.TooMany:
            raise GaveUp(
                f"There are more than {foreign_folder.MOST_ENTRIES} files in {shared.path}, among which none is looked "
                "for: have the program save into a folder of its own."
            ) from None
        ready = watch.ready(found, loop.time())
        if len(ready) >= (wanted.count or 1) and (arrived := await _copies(shared, ready, place, watch)):
            return arrived
        if loop.time() >= end_s:
            many = f"{wanted.count} files that fit" if wanted.count else "No file that fits"
            came = "were not all" if wanted.count else "was"
            raise GaveUp(f"{many} {wanted.pattern!r} {came} whole within {timeout_s:g} seconds. {watch.told()}")
        await asyncio.sleep(LOOK_S)


async def _copies(shared: SharedFolder, ready: list[Entry], place: Path, watch: Watch) -> list[Arrived]:
    """Copy what is ready, and return it if it is what is wanted; else nothing of it is left, and it is waited on."""
    wanted, copied = watch.wanted, list[Arrived]()
    if wanted.count is not None and len(ready) > wanted.count:
        raise _doubt(wanted, ready)
    taken: list[Arrived] = []
    try:
        for one in ready:
            try:
                found = await _in_thread(lambda stop, one=one: _copied(shared, one, place, stop))  # type: ignore[misc]
            except foreign_folder.Unfinished:
                watch.notwhole(one)
                continue
            copied.append(Arrived(one, found))
        if wanted.count is None and len({one.copied.sha256 for one in copied}) > 1:
            raise _doubt(wanted, [one.entry for one in copied])
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


def _doubt(wanted: Wanted, ready: list[Entry]) -> GaveUp:
    names = ", ".join(f"‘{safe_name(one.name)}’" for one in ready[:MOST_TOLD])
    return GaveUp(
        f"{len(ready)} different files fit {wanted.pattern!r} ({names}{', …' if len(ready) > MOST_TOLD else ''}), and "
        "nobody knows which is meant: give a narrower pattern, or wait_all(…, count=…)."
    )


async def _in_thread(work: Callable[[threading.Event], T]) -> T:
    """Do something in a thread, which is told to stop as soon as it is not waited for any more."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


def _copied(shared: SharedFolder, entry: Entry, place: Path, stop: threading.Event) -> Copied:
    try:
        with foreign_folder.opened(shared) as folder:
            return foreign_folder.copy_out(folder, entry, place, safe_name(entry.name), stop)
    except OSError as error:
        raise GaveUp(
            f"‘{safe_name(entry.name)}’ cannot be taken into {place}: {error.strerror}. Free some space there, or let "
            "the agent read what its programs save."
        ) from None


def listed(shared: SharedFolder) -> list[Entry]:
    with foreign_folder.opened(shared) as folder:
        return foreign_folder.entries(folder)
