"""Dialect of Holo3 and Holo3.1: one JSON object per step, with its schema in the request and in the system prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.json_object import check_unicode, parse_json_object
from holo_tasks.core.prompts.macros import Macro
from holo_tasks.core.prompts.model import Request
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.transcript import Correction, ModelStep, Observed, StepResult, Transcript
from holo_tasks.models.dialects.messages import OUT_OF_STEPS, PRINCIPLES, Gallery, Message, before_last, in_outcome_tags
from holo_tasks.models.dialects.replies import check_ended
from holo_tasks.models.profile import Profile

PROMPT = """\
You operate a computer for a person: you look at its screen and use its mouse and keyboard.
At each turn you get the current screen as an observation and reply with exactly one action.

- Positions are {positions}, relative to the newest screenshot; (0, 0) is its top left corner.
- Use "note" to remember facts that you will need later; older screenshots are removed.
"""


class Structured:
    """Dialect with structured outputs, as H Company documents it. The profile holds the differences between models."""

    reading = "structured"
    """Identity of the parser. It is a part of the cache key of decisions, because requests do not show it."""

    def __init__(self, profile: Profile, macros: Sequence[Macro] = ()) -> None:
        self._profile = profile
        self._toolbox = profile.toolbox(macros)
        self._schemas = {final: self._toolbox.step_schema(answer_only=final) for final in (False, True)}
        self._systems = {final: self._system(final) for final in (False, True)}

    def offering(self, macros: Sequence[Macro]) -> Structured:
        return Structured(self._profile, macros)

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> Request:
        profile, gallery = self._profile, Gallery(transcript, self._profile)
        messages: list[Message] = [
            {"role": "system", "content": self._systems[answer_only]},
            {"role": "user", "content": transcript.opening},
        ]
        for entry in transcript.entries:
            match entry:
                case Observed():
                    messages.append(gallery.observation(entry))
                case ModelStep():
                    messages.append({"role": "assistant", "content": self._as_json(entry.step)})
                case StepResult():
                    text = in_outcome_tags(entry, self._toolbox.name(entry.tool_name))
                    messages.append({"role": "user", "content": text})
        if correction:
            before_last(messages, in_outcome_tags(correction, correction.tool))
        body = {
            "model": profile.name,
            "messages": messages,
            **profile.sampling(),
            **profile.constrained(self._schemas[answer_only], name="step"),
        }
        return Request(body, gallery.shown)

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step:
        check_ended(reply)
        value = parse_json_object(reply.content)
        problems = [f"{key}: there is no such field" for key in value if key not in ("note", "thought", "tool_call")]
        if not isinstance(value.get("tool_call"), dict):
            problems.append("tool_call: an object is required")
        if not isinstance(value.get("thought"), str):
            problems.append("thought: a string is required")
        if not isinstance(value.get("note"), str | None):
            problems.append("note: neither a string nor null")
        if problems:
            raise UnusableReply(
                f"the model's reply does not match the output format ({'; '.join(problems[:3])})",
                correction=f"Your reply did not match the output format: {'; '.join(problems[:3])}. "
                "Reply again with one corrected JSON object.",
            )
        call = self._toolbox.read(value["tool_call"], answer_only=answer_only)
        check_unicode(f"{value.get('note')}{value['thought']}")
        return Step(note=value.get("note"), thought=value["thought"], tool_call=call)

    def _as_json(self, step: Step) -> str:
        """Return a parsed step in the model's own format."""
        call = self._toolbox.write(step.tool_call)
        return json.dumps({"note": step.note, "thought": step.thought, "tool_call": call}, ensure_ascii=False)

    def _system(self, final: bool) -> str:
        """Return the system message. It is byte-identical at every step of a conversation."""
        words = PROMPT.format(positions=self._profile.positions)
        prompt = words + PRINCIPLES.format(answer=self._toolbox.name("answer"))
        prompt += f"\n\n{OUT_OF_STEPS}" if final else ""
        schema: dict[str, Any] = self._schemas[final]
        return f"{prompt}\n\n<output_format>\n```json\n{json.dumps(schema)}\n```\n</output_format>"
