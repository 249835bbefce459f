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

LOCATE = "Locate one element of the user interface on this screenshot and give the point to click. The element is: {}"


class Questions:
    """Writes the request for a question to one model; a `core.prompts.model.Questioner`."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def __call__(self, text: str, shots: Sequence[Shot], schema: Mapping[str, Any], *, thinking: bool) -> Request:
        profile = self._profile
        shown = f"{text}\n\nReply with one JSON object that fits this schema, and nothing else:\n{json.dumps(schema)}"
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
