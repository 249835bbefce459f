"""What has to be installed for a live view."""

from __future__ import annotations

from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop import vnc

PAGES = tuple(Path("/usr/share") / folder for folder in ("novnc", "webapps/novnc", "noVNC"))
"""Where systems keep noVNC: Debian and Fedora, Arch, others."""
PAGES_PACKAGE = "novnc"


def pages() -> Path | None:
    """Return the folder of noVNC, if it is installed."""
    return next((folder for folder in PAGES if (folder / "core/rfb.js").is_file()), None)


def missing_packages() -> list[str]:
    """List what is missing, as Debian calls it."""
    found = {vnc.PACKAGE: vnc.program(), PAGES_PACKAGE: pages()}
    return [package for package, where in found.items() if not where]


def require() -> Path:
    """Return the folder of noVNC; raise `InvalidUsage` if anything is missing."""
    folder, missing = pages(), missing_packages()
    if missing or folder is None:
        raise InvalidUsage(
            "The live view needs programs that are not installed: run "
            f"`apt-get install --no-install-recommends {' '.join(missing)}`."
        )
    return folder
