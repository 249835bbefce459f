"""`shared_files`: files that a sub-goal is given in a folder of its desktop, and those that programs save there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from holo_tasks.agent.limits import deadline
from holo_tasks.core import events
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.errors import DesktopFailed, InvalidUsage, RedactionFailed
from holo_tasks.core.file_names import safe_name
from holo_tasks.core.ports import SharesFiles
from holo_tasks.core.shared_files import SharedFile, SharedFolder
from holo_tasks.machine import foreign_folder
from holo_tasks.machine.foreign_folder import Copied, Sign
from holo_tasks.machine.private import private_folder
from holo_tasks.run.file_arrivals import MB, MOST_FILES, Arrived, Wanted, listed, whole
from holo_tasks.run.run import Run, current_guard, current_run, surely
from holo_tasks.run.shared_folder_use import Sharing, sharing
from holo_tasks.run.subgoal_context import current_subgoal, side_walk
from holo_tasks.safety.scrubbing import hushed

Given: TypeAlias = str | Path | SharedFile
ARRIVING_S, LONGEST_S = 60.0, 24 * 3600.0
MOST_MB = 1000
HOME = "files"


class SharedFiles:
    """The folder that a desktop's programs and the agent share, in one block of a flow. Made by `shared_files`."""

    def __init__(self, run: Run, shared: SharedFolder, before: dict[str, Sign]) -> None:
        self._run, self._shared = run, shared
        self._known = before
        self.folder = shared.path
        self.given: tuple[SharedFile, ...] = ()

    async def wait(
        self,
        pattern: str = "*",
        *,
        timeout_seconds: float = ARRIVING_S,
        keep: bool = False,
        into: Path | str | None = None,
        most_mb: int = MOST_MB,
        may_be_empty: bool = False,
    ) -> SharedFile:
        """Wait for a file to be whole, and return it: copied to where no program gets at it, each file once.

        ``pattern`` is one of file names, as a shell's (``"*.pdf"``); it never leads out of the folder. A file counts
        that came or changed since this block was entered. It is whole when its name is not one that browsers and office
        programs give to what they are still writing, when nobody has it open to write, and when it stays as it is.
        Files of the same bytes are one; with others that fit and are whole at the same time, too, nobody can tell which
        is meant, and `GaveUp` is raised.

        The copy goes ``into`` a folder of yours, or one of ``HOLO_HOME``, and stays there. With ``keep`` it is also
        kept with the evidence. ``most_mb`` bounds its size. What came of it is recorded, with the digest of its bytes.

        Raises `GaveUp`, with what was seen instead, where none comes in time; deadlines and kills end the wait at once.
        """
        wanted = Wanted(pattern, None, most_mb, may_be_empty, keep)
        return (await self._wait(wanted, timeout_seconds, into))[0]

    async def wait_all(
        self,
        pattern: str = "*",
        *,
        count: int,
        timeout_seconds: float = ARRIVING_S,
        keep: bool = False,
        into: Path | str | None = None,
        most_mb: int = MOST_MB,
        may_be_empty: bool = False,
    ) -> list[SharedFile]:
        """Wait until so many files are whole, as in `wait`, and return them by name; more of them are refused."""
        wanted = Wanted(pattern, count, most_mb, may_be_empty, keep)
        return await self._wait(wanted, timeout_seconds, into)

    async def _wait(self, wanted: Wanted, timeout_s: float, into: Path | str | None) -> list[SharedFile]:
        if not 0 < timeout_s <= LONGEST_S:
            raise InvalidUsage(f"A file is waited for from 0 to {LONGEST_S:g} seconds, not {timeout_s!r}.")
        run = self._run
        if run.suspended is not None:
            raise run.suspended
        guard = current_guard() or run.guard
        guard.check_time(run.outside.now_s())
        place = private_folder(run.home, HOME, run.run_id) if into is None else Path(into).expanduser().absolute()
        async with AsyncExitStack() as stack:
            for scope in guard.lineage():
                await stack.enter_async_context(deadline(scope))
            arriving = await whole(self._shared, wanted, self._known, place, timeout_s)
        return [await self._taken(one, keep=wanted.keep) for one in arriving]

    async def _taken(self, arrived: Arrived, *, keep: bool) -> SharedFile:
        """Write down what arrived, and keep it with the evidence if that is wanted; from then on it is known."""
        run, copied = self._run, arrived.copied
        found = SharedFile(copied.path, safe_name(arrived.entry.name), copied.size, copied.sha256)
        if keep:
            attachment = await asyncio.to_thread(_attached, copied, found.name)
            await run.outside.recorder.keep(attachment)
            found = replace(found, evidence=f"{run.trace}/files/{found.sha256}")
        await side_walk("").record(
            events.FileArrived(
                name=found.name, size_bytes=found.size, sha256=found.sha256, kept=keep, token=_token(run)
            )
        )
        self._known[arrived.entry.name] = arrived.entry.sign
        run.log.info(
            "File arrived: %s (%d bytes, SHA-256 %s) is in %s", found.name, found.size, found.sha256, found.path
        )
        return found

    async def _give(self, give: Sequence[Given], most_mb: int, *, read_only: bool) -> None:
        """Copy files into the folder, each under a safe name, and write that down."""
        for one in give:
            source = Path(one.path if isinstance(one, SharedFile) else one).expanduser()
            name = safe_name(one.name if isinstance(one, SharedFile) else source.name)
            try:
                copied, entry = await asyncio.to_thread(
                    _put_in, self._shared, source, name, most_mb * MB, read_only=read_only
                )
            except OSError as error:
                raise InvalidUsage(f"The file {source} cannot be given to the desktop: {error.strerror}.") from None
            self._known[name] = entry
            self.given += (SharedFile(copied.path, name, copied.size, copied.sha256),)
            await side_walk("").record(
                events.FileGiven(
                    name=name,
                    size_bytes=copied.size,
                    sha256=copied.sha256,
                    read_only=read_only,
                    token=_token(self._run),
                )
            )


@asynccontextmanager
async def shared_files(
    give: Sequence[Given] = (), *, read_only: bool = False, most_mb: int = MOST_MB
) -> AsyncIterator[SharedFiles]:
    """Share a folder of the desktop with its programs: what you ``give`` is in it, and what they save there arrives.

        async with shared_files(give=["/data/letter.odt"]) as files:
            await pursue("Open the given file, and save it as a PDF.")
            letter = await files.wait("*.pdf")

    Each file is copied, under its own name made safe; with ``read_only`` the program cannot write into the copy.
    `pursue` tells the model inside where the folder is, and the names of what was given, as data; what is in a file
    never goes to a model from here. Programs find the folder in ``HOLO_FILES``, and one that is closed in has it as
    ``Downloads`` of its home, too. When this is left, whatever came meanwhile is removed from the folder: what was
    waited for lies elsewhere by then. One block at a time uses the folder of a desktop.

    Raises `InvalidUsage` where the screen is another machine's, which sees no folder of this one.
    """
    run = current_run()
    if isinstance(give, str | Path | SharedFile) or len(give) > MOST_FILES:
        raise InvalidUsage(f"give= is a list of up to {MOST_FILES} files.")
    if far := getattr(run.desktop, "far", ""):
        raise InvalidUsage(
            f"The desktop shows the screen of another machine ({far}), which sees no folder of this one."
        )
    if not isinstance(run.desktop, SharesFiles):
        raise InvalidUsage("This desktop shares no folder: use one that is started here, such as a VirtualDesktop.")
    shared = await run.desktop.shared_folder()
    told = Sharing(run, shared.path)
    with sharing(told):
        before = await asyncio.to_thread(_there, shared)
        files = SharedFiles(run, shared, dict(before))
        try:
            await files._give(give, most_mb, read_only=read_only)
            told.given = tuple(one.name for one in files.given)
            yield files
        finally:
            await surely(_clear(shared, set(before)))


def _attached(copied: Copied, name: str) -> Attachment:
    """Return a file as the evidence keeps it; one that holds the value of a secret in plain sight is refused."""
    data = copied.path.read_bytes()
    for encoding in ("utf-8", "utf-16-le"):
        text = data.decode(encoding, errors="replace")
        if hushed(text) != text:
            copied.path.unlink()
            raise RedactionFailed(
                f"The file ‘{name}’ holds the value of a secret, which no evidence may: wait for it without keep."
            )
    return Attachment(data, copied.sha256)


def _put_in(shared: SharedFolder, source: Path, name: str, most: int, *, read_only: bool) -> tuple[Copied, Sign]:
    with foreign_folder.opened(shared) as folder:
        return foreign_folder.copy_in(source, folder, shared, name, most, read_only=read_only)


def _there(shared: SharedFolder) -> dict[str, Sign]:
    try:
        return {one.name: one.sign for one in listed(shared)}
    except foreign_folder.TooMany:
        raise InvalidUsage(f"There are too many files in {shared.path}, before anything was given: clear it.") from None


async def _clear(shared: SharedFolder, kept: set[str]) -> None:
    def clear() -> None:
        with suppress(DesktopFailed), foreign_folder.opened(shared) as folder:  # it goes with its desktop
            foreign_folder.clear(folder, kept)

    await asyncio.to_thread(clear)


def _token(run: Run) -> str:
    here = current_subgoal()
    return (here.token if here else "") or run.options.key
