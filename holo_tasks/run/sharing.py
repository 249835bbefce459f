"""What the model is told of the folder that it shares with the programs on its desktop."""

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
"""What the data are called by which the model is told of files."""
TOLD = (
    f"Files change hands in the folder that the data call {FOLDER}. What this task has to save goes there, and the "
    f"{GIVEN} that the data may name are in it."
)


@dataclass(eq=False)
class Sharing:
    """That the folder of a run's desktop is in use, and by whom."""

    run: Run
    folder: Path
    given: tuple[str, ...] = ()


_sharing: ContextVar[Sharing | None] = ContextVar("holo_sharing", default=None)


@contextmanager
def sharing(found: Sharing) -> Iterator[None]:
    """Have the folder to oneself, and to what is done inside. Raises `InvalidUsage` where somebody else has it."""
    run, around = found.run, _sharing.get()
    if run.sharing is not None and run.sharing is not around:
        raise InvalidUsage(
            "Another sub-goal uses the folder of this desktop, and nobody could tell whose file is whose: use "
            "shared_files one after the other, or a desktop each."
        )
    mark, before = _sharing.set(found), run.sharing
    run.sharing = found
    try:
        yield
    finally:
        run.sharing = before
        _sharing.reset(mark)


def told_of_files() -> dict[str, Any]:
    """Return the data by which the model is told of the folder around this code; none if there is none."""
    found = _sharing.get()
    if found is None or found.run is not current_run():
        return {}
    return {FOLDER: str(found.folder)} | ({GIVEN: list(found.given)} if found.given else {})
