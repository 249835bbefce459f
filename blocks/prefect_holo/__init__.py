"""The public API under the name of the package: `from prefect_holo import HoloModel, subgoal`.

It has the names of `holo_tasks` and of `holo_blocks`. A name is imported when it is first used, because Prefect takes
seconds to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import holo_tasks

if TYPE_CHECKING:
    from holo_blocks import *  # noqa: F403
    from holo_tasks import *  # noqa: F403

_BLOCKS = (
    "AuditBucket",
    "HoloCredentials",
    "HoloDesktop",
    "HoloMailbox",
    "HoloModel",
    "holo_agent",
    "holo_agents",
    "load_block",
    "local_prefect",
    "rehearsal_model",
)

__all__ = [*holo_tasks.__all__, *_BLOCKS]


def __getattr__(name: str) -> Any:
    if name in _BLOCKS:
        return getattr(import_module("holo_blocks"), name)
    if name in holo_tasks.__all__:
        return getattr(holo_tasks, name)
    raise AttributeError(f"module 'prefect_holo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
