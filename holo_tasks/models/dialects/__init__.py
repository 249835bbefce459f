"""How a conversation is written down for a family of models, and how its reply is read."""

from __future__ import annotations

from typing import Any, Protocol

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.ports import Reply
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import Correction, Transcript
from holo_tasks.models.profile import Profile


class Dialect(Protocol):
    """Transcript in, request out; reply in, `Step` out."""

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> dict[str, Any]:
        """Return the body of a chat completion request.

        ``correction`` tells the model what was wrong with its last reply; it is not part of the
        transcript, so it is never replayed. ``answer_only`` allows nothing but an answer.
        """
        ...

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step:
        """Read the step; raise `UnusableReply` if there is none."""
        ...


def dialect_for(profile: Profile, wanted: str = "auto") -> Dialect:
    """Return the dialect to speak to a model."""
    name = profile.pick_dialect(wanted)
    if name == "structured":
        from holo_tasks.models.dialects.structured import Structured

        return Structured(profile)
    raise InvalidUsage(f"The {name!r} dialect is not available in this version; use --dialect structured.")
