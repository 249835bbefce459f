"""What a run tells whoever measures it; this is also the one who measures nothing, which is the usual one."""

from __future__ import annotations

from holo_tasks.core.ports import Recorder


class Watch:
    """Is told what a run does, and does nothing with it. Nothing that a watch does holds up, changes or stops a run."""

    def recorder(self, recorder: Recorder) -> Recorder:
        """Return a recorder that this watch hears what it records of."""
        return recorder

    def item(self, status: str, layer: str) -> None:
        """Hear that the work on a business item has ended, and who came to its result."""

    def limit(self, name: str) -> None:
        """Hear that a limit was reached, by its name."""

    async def over(self, *, killed: bool) -> None:
        """See to it that nothing of what was heard is lost as the process ends, within a time: a short one if the run
        was ``killed``."""


UNWATCHED = Watch()
