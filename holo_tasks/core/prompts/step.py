"""One parsed reply of the model: its note, its reasoning and its tool call."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from holo_tasks.core.prompts.tool_calls import AnyCall


class Step(BaseModel):
    """A parsed reply, independent of the dialect it was written in.

    ``note`` is text that the model wants to remember. ``call_id`` names the call in the function calling dialect.
    ``reasoning`` is empty unless the model is trained to see its own reasoning again. ``replaced`` is true if the model
    wrote secret values into its text and named no secret. The values were then replaced by the secrets' placeholders.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: str | None = None
    thought: str = ""
    tool_call: AnyCall
    call_id: str = ""
    confidence: float | None = None
    reasoning: str = ""
    replaced: bool = False
