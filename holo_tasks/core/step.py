"""One turn of the agent, parsed: what it noted, thought and wants done."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from holo_tasks.core.actions import AnyCall


class Step(BaseModel):
    """What a reply came to, whatever the dialect it was written in.

    ``note`` is what the model wants to remember. ``call_id`` names the call in the function calling dialect.
    ``reasoning`` is empty unless the model is trained to see its own again. ``replaced`` says
    that the secrets that its text to write names stand for values: the model wrote those, and named none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str | None = None
    thought: str = ""
    tool_call: AnyCall
    call_id: str = ""
    confidence: float | None = None
    reasoning: str = ""
    replaced: bool = False
