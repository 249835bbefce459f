"""Read the grants and limits of a program in a sandbox from a desktop's options. `SandboxSettings` is the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.network import Grant, Network, granted_hosts
from holo_tasks.desktop.sandbox.bubblewrap import require
from holo_tasks.desktop.sandbox.cgroup_limits import ResourceLimits
from holo_tasks.desktop.sandbox.folders import Access, folders_to_grant


@dataclass(frozen=True)
class SandboxSettings:
    """The hosts and folders that a sandboxed program reaches, and the memory and processors that it may use."""

    grants: tuple[Grant, ...]
    folders: Mapping[str, Access]
    bounds: ResourceLimits

    @classmethod
    def asked_for(
        cls, network: Network, folders: Mapping[str, Access], bounds: ResourceLimits, *, starts: bool
    ) -> SandboxSettings | None:
        """Return the grants, or ``None`` without a sandbox. ``starts`` is true if the desktop has a program.

        Raises `InvalidUsage` for options that contradict each other or cannot be granted. Raises `DesktopFailed` if
        bubblewrap is not installed.
        """
        grants = granted_hosts(network)
        if grants is None:
            if folders or bounds:
                raise InvalidUsage(
                    "folders, memory_mb and cpus limit a sandboxed program, but a program with network='host' runs "
                    "without a sandbox: give network='none', or the hosts that the program needs."
                )
            return None
        if not starts:
            raise InvalidUsage("network limits the program of a desktop, and this desktop starts none: give it an app.")
        require()
        return cls(grants, folders_to_grant(folders), bounds)

    def to_message(self) -> dict[str, Any]:
        """Return the grants as plain values for the message to the process that starts the program."""
        grants = [[grant.host, grant.port] for grant in self.grants]
        return {"grants": grants, "folders": dict(self.folders), "bounds": asdict(self.bounds)}
