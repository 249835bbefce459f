"""Define the interface through which a run reports to telemetry. `NO_OBSERVER` is the default and does nothing."""

from __future__ import annotations

from holo_tasks.core.ports import Recorder


class RunObserver:
    """Observer of a run. This base class ignores everything.

    An observer never delays, changes or stops a run.
    """

    def recorder(self, recorder: Recorder) -> Recorder:
        """Return a recorder that reports to this observer and passes everything on to ``recorder``."""
        return recorder

    def item(self, status: str, layer: str) -> None:
        """Count a finished business item, with its status and the layer that produced its result."""

    def limit(self, name: str) -> None:
        """Count a reached limit, by the limit's name."""

    async def send_all(self, *, killed: bool) -> None:
        """Send all measured data before the process ends. Waits at most a few seconds, less if the run was
        ``killed``."""


NO_OBSERVER = RunObserver()
