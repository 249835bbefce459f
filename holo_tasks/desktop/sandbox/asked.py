"""What a closed program is granted, as a desktop is asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.network import Grant, Network, granted
from holo_tasks.desktop.sandbox.bounds import Bounds
from holo_tasks.desktop.sandbox.bubblewrap import require
from holo_tasks.desktop.sandbox.folders import Access, checked


@dataclass(frozen=True)
class Closed:
    """The hosts and the folders that a program reaches which is closed in."""

    grants: tuple[Grant, ...]
    folders: Mapping[str, Access]
    bounds: Bounds

    @classmethod
    def asked_for(
        cls, network: Network, folders: Mapping[str, Access], bounds: Bounds, *, starts: bool
    ) -> Closed | None:
        """Return what is granted; None if the program is not closed in. ``starts`` says that there is a program.

        Raises `InvalidUsage` for what cannot be, `DesktopFailed` where bubblewrap is not installed.
        """
        grants = granted(network)
        if grants is None:
            if folders or bounds:
                raise InvalidUsage(
                    "folders, memory_mb and cpus say what a closed program gets, and with network='host' nothing is "
                    "closed: give network='none', or the hosts that the program needs."
                )
            return None
        if not starts:
            raise InvalidUsage("network says what the program reaches, and this desktop starts none: give it an app.")
        require()
        return cls(grants, checked(folders), bounds)

    def told(self) -> dict[str, Any]:
        """Return it as it is told to the process that starts the program."""
        grants = [[grant.host, grant.port] for grant in self.grants]
        return {"grants": grants, "folders": dict(self.folders), "bounds": asdict(self.bounds)}
