"""Dialect of Holo3.1 and Holo4: function calling, with results as tool messages and screens as user messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.json_object import check_unicode, parse_json_object, without_reasoning
from holo_tasks.core.prompts.macros import Macro
from holo_tasks.core.prompts.model import Request
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall
from holo_tasks.core.prompts.transcript import Correction, ModelStep, Observed, StepResult, Transcript
from holo_tasks.models.dialects.messages import OUT_OF_STEPS, PRINCIPLES, Gallery, Message, before_last, in_outcome_tags
from holo_tasks.models.dialects.replies import check_ended
from holo_tasks.models.profile import Profile

PROMPT = """\
You operate a computer for a person: you look at its screen and use its mouse and keyboard.
At each turn you get the current screen as an observation and call exactly one function.

- Positions are {positions}, relative to the newest screenshot; (0, 0) is its top left corner.
- Write down facts that you will need later beside your call; older screenshots are removed.
"""


class Tools:
    """Function-calling dialect.

    Only the first call of a reply is used; the text around the call is the model's memory.
    """

    def __init__(self, profile: Profile, macros: Sequence[Macro] = ()) -> None:
        self._profile = profile
        self.reading = f"tools, preserve_thinking={profile.preserve_thinking}"
        self._toolbox = profile.toolbox(macros)
        self._tools = {final: self._toolbox.functions(answer_only=final) for final in (False, True)}
        words = PROMPT.format(positions=profile.positions)
        self._system = words + PRINCIPLES.format(answer=self._toolbox.name("answer"))

    def offering(self, macros: Sequence[Macro]) -> Tools:
        return Tools(self._profile, macros)

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> Request:
        profile, gallery = self._profile, Gallery(transcript, self._profile)
        messages: list[Message] = [
            {"role": "system", "content": self._system},
            {"role": "user", "content": transcript.opening},
        ]
        call_id, used, number = "", set[str](), transcript.left_out
        for entry in transcript.entries:
            match entry:
                case Observed():
                    messages.append(gallery.observation(entry))
                case ModelStep():
                    number += 1
                    call_id = entry.step.call_id
                    while not call_id or call_id in used:
                        call_id = f"{call_id or 'call'}_{number}"
                    used.add(call_id)
                    messages.append(self._assistant_message(entry.step, call_id))
                case StepResult():
                    text = f"Error: {entry.text}" if entry.is_error else entry.text
                    messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
        if correction:
            before_last(messages, in_outcome_tags(correction, correction.tool))
        elif answer_only:
            before_last(messages, OUT_OF_STEPS)
        body = {
            "model": profile.name,
            "messages": messages,
            **profile.sampling(),
            "tools": self._tools[answer_only],
            "tool_choice": profile.tool_choice,
        }
        return Request(body, gallery.shown)

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step:
        check_ended(reply)
        text = without_reasoning(reply.content).strip()
        check_unicode(text)
        note = text or None
        if not reply.tool_calls:
            if answer_only and text:
                # Only an answer is allowed now, so the text counts as the answer.
                return Step(tool_call=AnswerCall(tool_name="answer", content=text))
            raise UnusableReply(
                "the model called no function",
                correction="Your reply called no function. Call exactly one function.",
            )
        first = reply.tool_calls[0]
        try:
            arguments = parse_json_object(first.arguments)
        except UnusableReply as error:
            raise UnusableReply(
                f"the arguments of the model's call cannot be read: {error}",
                correction="The arguments of your call were not one JSON object. Call the function again.",
            ) from None
        if "tool_name" in arguments:
            raise UnusableReply(
                "the model's call has an argument tool_name",
                correction="Call the function again without the argument tool_name.",
            )
        call = self._toolbox.read({"tool_name": first.name, **arguments}, answer_only=answer_only)
        reasoning = reply.reasoning if self._profile.preserve_thinking else ""
        return Step(note=note, tool_call=call, call_id=first.id, reasoning=reasoning)

    def _assistant_message(self, step: Step, call_id: str) -> Message:
        """Return the assistant message of a step: the parsed call, and the model's text."""
        arguments = self._toolbox.write(step.tool_call)
        function: dict[str, Any] = {
            "name": arguments.pop("tool_name"),
            "arguments": json.dumps(arguments, ensure_ascii=False),
        }
        message: Message = {
            "role": "assistant",
            "content": step.note or "",
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }
        if step.reasoning:
            message["reasoning_content"] = step.reasoning
        return message
