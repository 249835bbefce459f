"""Track which sub-goal uses the folder shared with the desktop's programs, and describe its files to the model.

`hold_exclusively` holds the folder exclusively. `files_text` gives `pursue` the data for the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.run.run import Run, current_run

FOLDER, GIVEN = "shared_folder", "given_files"
"""Names of the data fields that hold the folder and the given files."""
TOLD = (
    f"Files are exchanged in the folder that the data call {FOLDER}. Save the files of this task there. It also "
    f"contains the {GIVEN}, if the data name any."
)


@dataclass(eq=False)
class SharedFolderUse:
    """The use of a run's shared folder: the run, the folder and the names of the given files."""

    run: Run
    folder: Path
    given: tuple[str, ...] = ()


_sharing: ContextVar[SharedFolderUse | None] = ContextVar("holo_sharing", default=None)


@contextmanager
def hold_exclusively(found: SharedFolderUse) -> Iterator[None]:
    """Hold the folder exclusively inside the block. Sub-goals inside may use it as well.

    Raises `InvalidUsage` if another sub-goal holds it.
    """
    run, around = found.run, _sharing.get()
    if run.sharing is not None and run.sharing is not around:
        raise InvalidUsage(
            "Another sub-goal uses the folder of this desktop, and their files would be mixed up: use "
            "shared_files one after the other, or a desktop each."
        )
    mark, before = _sharing.set(found), run.sharing
    run.sharing = found
    try:
        yield
    finally:
        run.sharing = before
        _sharing.reset(mark)


def files_text() -> dict[str, Any]:
    """Return the data that describe the current shared folder to the model; empty without one."""
    found = _sharing.get()
    if found is None or found.run is not current_run():
        return {}
    return {FOLDER: str(found.folder)} | ({GIVEN: list(found.given)} if found.given else {})
