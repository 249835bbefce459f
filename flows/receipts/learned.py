"""The look-up by a playbook that earlier runs of it were compiled into: it comes before the model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from pathlib import Path

from holo_tasks import InvalidUsage, Script, SubgoalOptions
from holo_tasks.run.named_files import playbook_named

EXAMPLE = "TX-10000"
_playbook: ContextVar[Path | None] = ContextVar("look_up_playbook", default=None)


@asynccontextmanager
async def learned(name: str | None) -> AsyncIterator[None]:
    """Have records read by the playbook of this name, where one is given.

    Raises `InvalidUsage` if it is not there, or does not do with a reference alone.
    """
    with looked_up_by(playbook_named(name) if name else None):
        yield


@contextmanager
def looked_up_by(path: Path | None) -> Iterator[None]:
    """Have records read by the playbook in a file, where one is given; raises as `learned` does."""
    if path is not None:
        try:
            Script(path, reference=EXAMPLE)
        except InvalidUsage as error:
            raise InvalidUsage(f"The playbook {path} does not look transactions up. {error}") from None
    mark = _playbook.set(path)
    try:
        yield
    finally:
        _playbook.reset(mark)


def before_the_model(reference: str) -> SubgoalOptions | None:
    """Return who reads a record where there is a playbook: it, then the model; None where there is none."""
    path = _playbook.get()
    return None if path is None else SubgoalOptions(layers=[Script(path, reference=reference), "model"])
