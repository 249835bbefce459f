"""Can a person be shown an agent's desktop? A run does without until it needs one, so nothing fails for it."""

from __future__ import annotations

from holo_tasks.cli.doctor.findings import Chain
from holo_tasks.live_view.programs import missing_packages


async def check_view(chain: Chain) -> None:
    """Look for the programs of the live view."""
    if missing := missing_packages():
        chain.warn(
            "A person cannot be shown an agent's desktop in a browser: run "
            f"`apt-get install --no-install-recommends {' '.join(missing)}`."
        )
    else:
        chain.ok("A person can be shown an agent's desktop in a browser: the VNC server and noVNC are installed.")
