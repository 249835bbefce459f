"""Write a playbook's step in the form of the client's dialect, with the names of its tools."""

from __future__ import annotations

import json
import uuid
from typing import Any

from holo_tasks.contract.offered_tools import offered
from holo_tasks.contract.rulebook import Body, Terms
from holo_tasks.contract.wire_messages import NOTED
from holo_tasks.rehearsal.errors import RequestRefused


def with_client_names(step: dict[str, Any], body: Body, terms: Terms) -> dict[str, Any]:
    """Return a step with the tool name that the request uses.

    Without `ask_human`, the question becomes the answer. Raises `RequestRefused` if the request does not offer the
    tool.
    """
    names = offered(body, terms)
    call = dict(step["tool_call"])
    if call["tool_name"] == "ask_human" and "ask_human" not in names:
        call = {"tool_name": "answer", "content": call["question"]}
    if call["tool_name"] not in names and f"{call['tool_name']}_desktop" in names:
        call["tool_name"] += "_desktop"
    if call["tool_name"] not in names:
        raise RequestRefused(
            400, "no_such_tool", f"the playbook needs {call['tool_name']}, which the request does not offer"
        )
    return {**step, "tool_call": call}


def message_of(step: dict[str, Any], terms: Terms) -> dict[str, Any]:
    """Return a step as an assistant message."""
    if terms.dialect != "tools":
        return {"role": "assistant", "content": json.dumps(step, ensure_ascii=False)}
    arguments = {key: value for key, value in step["tool_call"].items() if key != "tool_name"}
    function = {"name": step["tool_call"]["tool_name"], "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {
        "role": "assistant",
        # A call has no field for the thought, and the playbook recognizes its steps by their thoughts.
        "content": step["thought"] + (f"{NOTED}{step['note']}" if step.get("note") else ""),
        "tool_calls": [{"id": f"call_{uuid.uuid4().hex[:16]}", "type": "function", "function": function}],
    }
