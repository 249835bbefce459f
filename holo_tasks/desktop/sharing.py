"""How a desktop tells of the folder that its programs share with the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.desktop.measured import Measured


class Sharing(Measured):
    """A part of `Desktop`."""

    _shares: dict[str, Any] | None = None

    async def shared_folder(self) -> SharedFolder:
        """Return the folder that the programs on this desktop share with the agent: they alone, and it."""
        self._running()
        if self._shares is None:
            raise InvalidUsage("This desktop shares no folder: its screen is that of another machine.")
        return SharedFolder(**{**self._shares, "path": Path(self._shares["path"])})
