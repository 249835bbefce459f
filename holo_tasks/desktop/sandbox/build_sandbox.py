"""Build the sandbox of a desktop's program from the request for the desktop."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holo_tasks.core.network import Grant
from holo_tasks.desktop.programs.shared_folder import VARIABLE as FILES
from holo_tasks.desktop.sandbox.cgroup_limits import ResourceLimits
from holo_tasks.desktop.sandbox.folders import Access
from holo_tasks.desktop.sandbox.start import Sandbox
from holo_tasks.desktop.sandbox.visible_files import Place


def build_sandbox(
    order: Mapping[str, Any], env: Mapping[str, str], start: Path, sockets: list[Path], profile: Path | None, name: str
) -> Sandbox:
    """Return the sandbox that the ``order`` asks for; the program may write to its ``profile``."""
    closed = order["closed"]
    grants = [Grant(host, port) for host, port in closed["grants"]]
    of_root = os.geteuid() == 0 and not order["run_as"]
    place, bounds = Place.of(env, start, sockets, Path(env[FILES])), ResourceLimits(**closed["bounds"])
    own: dict[str, Access] = {str(profile): "write"} if profile else {}
    return Sandbox(grants, closed["folders"] | own, place, of_root, bounds, name)
