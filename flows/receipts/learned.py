"""Look transactions up by a playbook that was compiled from earlier audits. It comes before the model."""

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
    """Use the playbook with this name for look-ups inside, if a name is given.

    Raises `InvalidUsage` if the playbook does not exist, or needs more than a reference.
    """
    with looked_up_by(playbook_named(name) if name else None):
        yield


@contextmanager
def looked_up_by(path: Path | None) -> Iterator[None]:
    """Use the playbook in this file for look-ups inside, if a file is given. Raises the errors of `learned`."""
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
    """Return the layers for a look-up: the playbook, then the model. Returns ``None`` without a playbook."""
    path = _playbook.get()
    return None if path is None else SubgoalOptions(layers=[Script(path, reference=reference), "model"])
