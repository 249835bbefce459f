"""Return the folder that a desktop's programs share with the agent. A mixin of `desktop.Desktop`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.desktop.calibration.click_errors import CalibrationMixin


class SharedFolderMixin(CalibrationMixin):
    """The method of `Desktop` that returns the shared folder."""

    _shares: dict[str, Any] | None = None

    async def shared_folder(self) -> SharedFolder:
        """Return the folder that only this desktop's programs and the agent share.

        Raises `InvalidUsage` on a desktop that shows a remote screen.
        """
        self._running()
        if self._shares is None:
            raise InvalidUsage("This desktop shares no folder: its screen is that of another machine.")
        return SharedFolder(**{**self._shares, "path": Path(self._shares["path"])})
