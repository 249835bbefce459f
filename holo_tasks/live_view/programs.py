"""Find the programs that a live view needs: a VNC server and noVNC."""

from __future__ import annotations

from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.remote import vnc

PAGES = tuple(Path("/usr/share") / folder for folder in ("novnc", "webapps/novnc", "noVNC"))
"""Where distributions install noVNC: Debian and Fedora, Arch, others."""
PAGES_PACKAGE = "novnc"


def pages() -> Path | None:
    """Return the folder of noVNC, or ``None`` if it is not installed."""
    return next((folder for folder in PAGES if (folder / "core/rfb.js").is_file()), None)


def missing_packages() -> list[str]:
    """List the Debian packages that a live view needs and that are not installed."""
    found = {vnc.PACKAGE: vnc.program(), PAGES_PACKAGE: pages()}
    return [package for package, where in found.items() if not where]


def require() -> Path:
    """Return the folder of noVNC. Raises `InvalidUsage` if anything is missing."""
    folder, missing = pages(), missing_packages()
    if missing or folder is None:
        raise InvalidUsage(
            "The live view needs programs that are not installed: run "
            f"`apt-get install --no-install-recommends {' '.join(missing)}`."
        )
    return folder
