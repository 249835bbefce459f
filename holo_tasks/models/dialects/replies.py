"""The check that all dialects make before they parse a reply."""

from __future__ import annotations

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.ports import Reply


def check_ended(reply: Reply) -> None:
    """Raise `UnusableReply` if a reply is empty or was cut off."""
    cut = reply.finish_reason == "length"
    if not reply.content.strip() and not reply.tool_calls:
        ate = " because it ran out of output tokens" if cut else ""
        raise UnusableReply(
            f"the model's reply was empty{ate}",
            correction="Your reply was empty. Think briefly, then reply with one action.",
        )
    if cut:
        raise UnusableReply(
            "the model's reply was cut off at its output limit",
            correction="Your reply was cut off. Keep what you say to one sentence.",
        )
