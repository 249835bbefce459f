"""Run Holo computer-use agents as Prefect flows.

A screenshot goes one way, and changes type at each door, so that a mistake is a type error:

    settle, capture   Frame           desktop.eyes
    redact            RedactedFrame   safety.redaction
    encode            Shot            models.encoding
    record            event           audit.recorder, durable before it is sent
    predict           Reply           models.client, charged here
    parse             Step            models.dialects, core.step
    scale             Gesture         core.scaling
    permit            Permit          safety.policy, core.budget
    act               Receipt         desktop.hands
    verify            Verdict         core.verdicts
    record            event           audit.recorder

`core.walk` holds the doors, `core.loop` puts them in sequence, `tasks` and `subgoals` make Prefect runs of them.
What a flow needs is here; names are loaded when they are used, because Prefect takes seconds to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holo_tasks.agent import open_agent
    from holo_tasks.audit.errors import EvidenceFailed
    from holo_tasks.claims import NOT_DONE, NotDone
    from holo_tasks.core.budget import Limits
    from holo_tasks.core.errors import (
        DesktopFailed,
        GaveUp,
        HoloError,
        InvalidUsage,
        Killed,
        LimitReached,
        ModelFailed,
        NeedsPerson,
        PolicyRefused,
        RedactionFailed,
        TokenConflict,
    )
    from holo_tasks.core.geometry import Box
    from holo_tasks.core.person import Answer, HandOff
    from holo_tasks.core.screens import Interruption, Screens, Way
    from holo_tasks.core.states import Absent, AnyOf, Asked, Picture, State, Text, Window
    from holo_tasks.decorators import cost_guardrail
    from holo_tasks.handoff import hand_over
    from holo_tasks.judging import judge
    from holo_tasks.keyed import step
    from holo_tasks.locating import localize
    from holo_tasks.playbooks.hands import Hands
    from holo_tasks.playbooks.scripted import Script, screens_of
    from holo_tasks.publish import publish_markdown, publish_table
    from holo_tasks.pursuing import pursue
    from holo_tasks.recovering import recover_to
    from holo_tasks.rows import write_rows
    from holo_tasks.run import current_run, progress
    from holo_tasks.safety.masking.settings import Redaction
    from holo_tasks.safety.policy import Rules
    from holo_tasks.secret_sources import SecretSpec
    from holo_tasks.subgoals import is_done, subgoal
    from holo_tasks.tasks import agent_step

_HOMES = {
    "open_agent": "agent",
    "agent_step": "tasks",
    "EvidenceFailed": "audit.errors",
    "NOT_DONE": "claims",
    "NotDone": "claims",
    "Limits": "core.budget",
    "DesktopFailed": "core.errors",
    "GaveUp": "core.errors",
    "HoloError": "core.errors",
    "InvalidUsage": "core.errors",
    "Killed": "core.errors",
    "LimitReached": "core.errors",
    "ModelFailed": "core.errors",
    "NeedsPerson": "core.errors",
    "PolicyRefused": "core.errors",
    "RedactionFailed": "core.errors",
    "TokenConflict": "core.errors",
    "Box": "core.geometry",
    "Answer": "core.person",
    "HandOff": "core.person",
    "Absent": "core.states",
    "AnyOf": "core.states",
    "Asked": "core.states",
    "Interruption": "core.screens",
    "Picture": "core.states",
    "Screens": "core.screens",
    "State": "core.states",
    "Text": "core.states",
    "Way": "core.screens",
    "Window": "core.states",
    "cost_guardrail": "decorators",
    "hand_over": "handoff",
    "judge": "judging",
    "step": "keyed",
    "localize": "locating",
    "Hands": "playbooks.hands",
    "Script": "playbooks.scripted",
    "screens_of": "playbooks.scripted",
    "publish_markdown": "publish",
    "publish_table": "publish",
    "recover_to": "recovering",
    "write_rows": "rows",
    "current_run": "run",
    "progress": "run",
    "Redaction": "safety.masking.settings",
    "Rules": "safety.policy",
    "SecretSpec": "secret_sources",
    "is_done": "subgoals",
    "pursue": "pursuing",
    "subgoal": "subgoals",
}

__all__ = [
    "NOT_DONE",
    "Absent",
    "Answer",
    "AnyOf",
    "Asked",
    "Box",
    "DesktopFailed",
    "EvidenceFailed",
    "GaveUp",
    "HandOff",
    "Hands",
    "HoloError",
    "Interruption",
    "InvalidUsage",
    "Killed",
    "LimitReached",
    "Limits",
    "ModelFailed",
    "NeedsPerson",
    "NotDone",
    "Picture",
    "PolicyRefused",
    "Redaction",
    "RedactionFailed",
    "Rules",
    "Screens",
    "Script",
    "SecretSpec",
    "State",
    "Text",
    "TokenConflict",
    "Way",
    "Window",
    "agent_step",
    "cost_guardrail",
    "current_run",
    "hand_over",
    "is_done",
    "judge",
    "localize",
    "open_agent",
    "progress",
    "publish_markdown",
    "publish_table",
    "pursue",
    "recover_to",
    "screens_of",
    "step",
    "subgoal",
    "write_rows",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'holo_tasks' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.{_HOMES[name]}"), name)
