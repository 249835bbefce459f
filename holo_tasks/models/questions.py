"""Single questions about pictures: no conversation, the pictures first, and a JSON object as the reply.

Holo models are trained on this form for localization. Other vision models with an OpenAI-compatible API accept it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from holo_tasks.core.prompts.model import Request
from holo_tasks.core.screen.frame import Shot
from holo_tasks.models.dialects.messages import image_part, text_part
from holo_tasks.models.profile import Profile

_SCHEMA = "{schema}"
_LOCATE = (
    "Localize an element on the GUI image according to the provided target and output a click position.\n"
    f" * You must output a valid JSON following the format: {_SCHEMA}\n"
    " Your target is:\n"
)
"""The prompt with which Holo models are trained for localization, from H's documentation. It is sent unchanged."""


def locate(element: str) -> str:
    """Return the question for the point at which to click an element."""
    return _LOCATE + element


class Questions:
    """Writes the request for a question to one model; a `core.prompts.model.Questioner`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def __call__(self, text: str, shots: Sequence[Shot], schema: Mapping[str, Any], *, thinking: bool) -> Request:
        profile = self._profile
        written = json.dumps(schema)
        if text.startswith(_LOCATE):
            shown = text.replace(_SCHEMA, written, 1)
        else:
            shown = f"{text}\n\nReply with one JSON object that fits this schema, and nothing else:\n{written}"
        options = profile.sampling()
        if not thinking:
            options["temperature"] = 0
            options.pop("reasoning_effort", None)
            if "chat_template_kwargs" in options:
                options["chat_template_kwargs"] = {"enable_thinking": False}
        body = {
            "model": profile.name,
            "messages": [{"role": "user", "content": [*map(image_part, shots), text_part(shown)]}],
            **options,
            **profile.constrained(schema, name="reply"),
        }
        return Request(body, tuple(shots))
