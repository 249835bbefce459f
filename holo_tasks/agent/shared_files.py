"""`shared_files`: give files to the programs of a desktop in a shared folder, and receive the files that they save."""

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
from holo_tasks.core.ports import SharesFiles
from holo_tasks.core.shared_files import SharedFile, SharedFolder
from holo_tasks.core.texts.file_names import safe_name
from holo_tasks.machine import foreign_folder
from holo_tasks.machine.foreign_folder import CopiedFile, FileVersion
from holo_tasks.machine.private import private_folder
from holo_tasks.run.desktops.shared_folder_use import SharedFolderUse, hold_exclusively
from holo_tasks.run.file_arrivals import MB, MOST_FILES, Arrived, ExpectedFiles, list_files, wait_for_files
from holo_tasks.run.run import Run, current_guard, current_run, run_to_end
from holo_tasks.run.subgoal_context import current_subgoal, side_walk
from holo_tasks.safety.scrubbing import scrub_text

Given: TypeAlias = str | Path | SharedFile
ARRIVING_S, LONGEST_S = 60.0, 24 * 3600.0
MOST_MB = 1000
HOME = "files"


class SharedFiles:
    """The folder that a desktop's programs and the flow share. `shared_files` creates it."""

    def __init__(self, run: Run, shared: SharedFolder, before: dict[str, FileVersion]) -> None:
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
        """Wait for a complete file, and return a copy that the desktop's programs cannot reach. Each file counts once.

        ``pattern`` is a shell pattern for the file name, such as ``"*.pdf"``. It never matches outside the folder. A
        file counts if it is new or has changed since the block was entered. It is complete if its name is not a
        temporary one of browsers or office programs, if no process has it open for writing, and if it no longer
        changes. Files with equal bytes count as one.

        The copy goes ``into`` a folder of yours, or one of ``HOLO_HOME``, and stays there. With ``keep`` the trace
        also keeps it. ``most_mb`` limits its size. The trace has its name and the SHA-256 of its bytes.

        Raises `GaveUp` if no file arrives in time, or if several different files fit. Deadlines and kills end the wait
        at once.
        """
        wanted = ExpectedFiles(pattern, None, most_mb, may_be_empty, keep)
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
        """Wait for ``count`` complete files, as in `wait`, and return them by name. Raises `GaveUp` if more fit."""
        wanted = ExpectedFiles(pattern, count, most_mb, may_be_empty, keep)
        return await self._wait(wanted, timeout_seconds, into)

    async def _wait(self, wanted: ExpectedFiles, timeout_s: float, into: Path | str | None) -> list[SharedFile]:
        if not 0 < timeout_s <= LONGEST_S:
            raise InvalidUsage(f"timeout_seconds= must be above 0 and at most {LONGEST_S:g}, not {timeout_s!r}.")
        run = self._run
        if run.suspended is not None:
            raise run.suspended
        guard = current_guard() or run.guard
        guard.check_time(run.outside.now_s())
        place = private_folder(run.home, HOME, run.run_id) if into is None else Path(into).expanduser().absolute()
        async with AsyncExitStack() as stack:
            for scope in guard.lineage():
                await stack.enter_async_context(deadline(scope))
            arriving = await wait_for_files(self._shared, wanted, self._known, place, timeout_s)
        return [await self._record_arrival(one, keep=wanted.keep) for one in arriving]

    async def _record_arrival(self, arrived: Arrived, *, keep: bool) -> SharedFile:
        """Record a file, and add it to the trace with ``keep``. It does not count again."""
        run, copied = self._run, arrived.copied
        found = SharedFile(copied.path, safe_name(arrived.entry.name), copied.size, copied.sha256)
        if keep:
            attachment = await asyncio.to_thread(_trace_attachment, copied, found.name)
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
        """Copy files into the folder under safe names, and record that."""
        for one in give:
            source = Path(one.path if isinstance(one, SharedFile) else one).expanduser()
            name = safe_name(one.name if isinstance(one, SharedFile) else source.name)
            try:
                copied, entry = await asyncio.to_thread(
                    _copy_into, self._shared, source, name, most_mb * MB, read_only=read_only
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
    """Share a folder with the desktop's programs. It contains copies of ``give``, and receives files that they save.

        async with shared_files(give=["/data/letter.odt"]) as files:
            await pursue("Open the given file, and save it as a PDF.")
            letter = await files.wait("*.pdf")

    Each file is copied under a safe form of its name. With ``read_only`` the program cannot write to the copy.
    Inside the block `pursue` gives the model the folder's path and the names of the given files, as data. The contents
    of files never go to a model. Programs find the path in ``HOLO_FILES``. A sandboxed program also has the folder as
    ``Downloads`` in its home.

    At the end of the block all new files are deleted from the folder; the files that were waited for are copies
    elsewhere. Only one block at a time can use the folder of a desktop.

    Raises `InvalidUsage` for the screen of another machine, which has no access to folders of this one.
    """
    run = current_run()
    if isinstance(give, str | Path | SharedFile) or len(give) > MOST_FILES:
        raise InvalidUsage(f"give= is a list of up to {MOST_FILES} files.")
    if far := getattr(run.desktop, "far", ""):
        raise InvalidUsage(
            f"The desktop shows the screen of another machine ({far}), which has no access to folders of this one."
        )
    if not isinstance(run.desktop, SharesFiles):
        raise InvalidUsage("This desktop shares no folder: use one that is started here, such as a VirtualDesktop.")
    shared = await run.desktop.shared_folder()
    use = SharedFolderUse(run, shared.path)
    with hold_exclusively(use):
        before = await asyncio.to_thread(_present_files, shared)
        files = SharedFiles(run, shared, dict(before))
        try:
            await files._give(give, most_mb, read_only=read_only)
            use.given = tuple(one.name for one in files.given)
            yield files
        finally:
            await run_to_end(_clear(shared, set(before)))


def _trace_attachment(copied: CopiedFile, name: str) -> Attachment:
    """Return a file for the trace. Raises `RedactionFailed` if it contains the value of a secret as plain text."""
    data = copied.path.read_bytes()
    for encoding in ("utf-8", "utf-16-le"):
        text = data.decode(encoding, errors="replace")
        if scrub_text(text) != text:
            copied.path.unlink()
            raise RedactionFailed(
                f"The file ‘{name}’ contains the value of a secret and cannot be kept as evidence: wait without keep."
            )
    return Attachment(data, copied.sha256)


def _copy_into(
    shared: SharedFolder, source: Path, name: str, most: int, *, read_only: bool
) -> tuple[CopiedFile, FileVersion]:
    with foreign_folder.opened(shared) as folder:
        return foreign_folder.copy_in(source, folder, shared, name, most, read_only=read_only)


def _present_files(shared: SharedFolder) -> dict[str, FileVersion]:
    try:
        return {one.name: one.sign for one in list_files(shared)}
    except foreign_folder.TooManyEntries:
        raise InvalidUsage(f"{shared.path} has too many files before any file was given: clear it.") from None


async def _clear(shared: SharedFolder, kept_names: set[str]) -> None:
    def clear() -> None:
        with suppress(DesktopFailed), foreign_folder.opened(shared) as folder:  # gone if its desktop is gone
            foreign_folder.clear(folder, kept_names)

    await asyncio.to_thread(clear)


def _token(run: Run) -> str:
    here = current_subgoal()
    return (here.token if here else "") or run.options.key
