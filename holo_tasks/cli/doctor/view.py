"""Check of the live view. Missing programs give a warning only, because a run needs them for hand-offs only."""

from __future__ import annotations

from holo_tasks.cli.doctor.findings import Chain
from holo_tasks.live_view.programs import missing_packages


async def check_view(chain: Chain) -> None:
    """Check that the VNC server and noVNC are installed."""
    if missing := missing_packages():
        chain.warn(
            "A person cannot see an agent's desktop in a browser: run "
            f"`apt-get install --no-install-recommends {' '.join(missing)}`."
        )
    else:
        chain.ok("A person can see an agent's desktop in a browser: the VNC server and noVNC are installed.")
