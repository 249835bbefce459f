"""Run Holo computer-use agents as Prefect flows.

A step of an agent is a pipeline. Each stage takes the type that the stage before it returns, so a type checker finds
stages in the wrong order:

    settle, capture   Frame           desktop.eyes
    redact            RedactedFrame   safety.redaction
    encode            Shot            models.encoding
    record            event           audit.recorder, durable before the shot is sent
    predict           Reply           models.client, charged here
    parse             Step            models.dialects, core.step
    scale             Gesture         core.scaling
    permit            Permit          safety.policy, core.budget
    act               Receipt         desktop.hands
    verify            Verdict         core.verdicts
    record            event           audit.recorder

`loop.walk` has the stages, `loop.loop` runs them in sequence, and `agent` makes them Prefect runs.

This module is the public API for flows. It imports a name when it is first used, because Prefect takes seconds to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holo_tasks.agent.agent_step import agent_step
    from holo_tasks.agent.cost_guardrail import cost_guardrail
    from holo_tasks.agent.judge import judge
    from holo_tasks.agent.limits import limits
    from holo_tasks.agent.lists.fan_out import fan_out
    from holo_tasks.agent.lists.work_list import WorkList
    from holo_tasks.agent.mailed_codes import mailed_codes
    from holo_tasks.agent.open_agent import open_agent
    from holo_tasks.agent.open_agents import Agents, open_agents
    from holo_tasks.agent.pursue import pursue
    from holo_tasks.agent.screen.calibrate import calibrate
    from holo_tasks.agent.screen.localize import localize
    from holo_tasks.agent.screen.recover import recover_to
    from holo_tasks.agent.shared_files import SharedFiles, shared_files
    from holo_tasks.agent.step import step
    from holo_tasks.agent.subgoal import is_done, subgoal
    from holo_tasks.agent.write_rows import write_rows
    from holo_tasks.audit.errors import EvidenceFailed
    from holo_tasks.core.elements.inventory import Discover
    from holo_tasks.core.errors import (
        BusinessFailure,
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
    from holo_tasks.core.limits.budget import Limits
    from holo_tasks.core.person import Answer, HandOff
    from holo_tasks.core.screen.geometry import Box
    from holo_tasks.core.screen.remote_screen import Rdp, Vnc
    from holo_tasks.core.screen.states import Absent, AnyOf, Asked, Picture, State, Text, Widget, Window
    from holo_tasks.core.shared_files import SharedFile
    from holo_tasks.handoff.hand_over import hand_over
    from holo_tasks.loop.screens import Interruption, Route, Screens, Way
    from holo_tasks.office.read_rows import read_rows
    from holo_tasks.run.api_layer import Api
    from holo_tasks.run.desktops.seat import seat
    from holo_tasks.run.hooks import HandOffOpened, Hooks, ItemFinished, LimitHit, StepTaken
    from holo_tasks.run.items.fair_map import Outcome
    from holo_tasks.run.items.journal import NOT_DONE, NotDone
    from holo_tasks.run.learn import Learn, learned
    from holo_tasks.run.prefect_edge.artifacts import publish_markdown, publish_table
    from holo_tasks.run.rules.secret_sources import SecretSpec
    from holo_tasks.run.run import current_run, progress
    from holo_tasks.run.run_options import RunOptions
    from holo_tasks.run.subgoal_options import Effect, SubgoalOptions
    from holo_tasks.safety.masking.settings import Redaction
    from holo_tasks.safety.policy import Rules
    from holo_tasks.safety.records.seats import Seat
    from holo_tasks.scripts.file_dialogs import open_in_dialog, save_in_dialog
    from holo_tasks.scripts.hands import Hands
    from holo_tasks.scripts.script import Script, screens_of

_MODULES = {
    "Agents": "agent.open_agents",
    "open_agent": "agent.open_agent",
    "open_agents": "agent.open_agents",
    "Outcome": "run.items.fair_map",
    "agent_step": "agent.agent_step",
    "EvidenceFailed": "audit.errors",
    "NOT_DONE": "run.items.journal",
    "Effect": "run.subgoal_options",
    "RunOptions": "run.run_options",
    "SubgoalOptions": "run.subgoal_options",
    "limits": "agent.limits",
    "HandOffOpened": "run.hooks",
    "Hooks": "run.hooks",
    "ItemFinished": "run.hooks",
    "LimitHit": "run.hooks",
    "StepTaken": "run.hooks",
    "Route": "loop.screens",
    "NotDone": "run.items.journal",
    "Learn": "run.learn",
    "learned": "run.learn",
    "Limits": "core.limits.budget",
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
    "Box": "core.screen.geometry",
    "Discover": "core.elements.inventory",
    "Answer": "core.person",
    "HandOff": "core.person",
    "Rdp": "core.screen.remote_screen",
    "Vnc": "core.screen.remote_screen",
    "Absent": "core.screen.states",
    "AnyOf": "core.screen.states",
    "Asked": "core.screen.states",
    "Interruption": "loop.screens",
    "Picture": "core.screen.states",
    "Screens": "loop.screens",
    "State": "core.screen.states",
    "Text": "core.screen.states",
    "Way": "loop.screens",
    "Widget": "core.screen.states",
    "Window": "core.screen.states",
    "calibrate": "agent.screen.calibrate",
    "cost_guardrail": "agent.cost_guardrail",
    "hand_over": "handoff.hand_over",
    "judge": "agent.judge",
    "step": "agent.step",
    "localize": "agent.screen.localize",
    "mailed_codes": "agent.mailed_codes",
    "Hands": "scripts.hands",
    "Script": "scripts.script",
    "screens_of": "scripts.script",
    "Api": "run.api_layer",
    "publish_markdown": "run.prefect_edge.artifacts",
    "publish_table": "run.prefect_edge.artifacts",
    "recover_to": "agent.screen.recover",
    "SharedFile": "core.shared_files",
    "SharedFiles": "agent.shared_files",
    "shared_files": "agent.shared_files",
    "open_in_dialog": "scripts.file_dialogs",
    "save_in_dialog": "scripts.file_dialogs",
    "write_rows": "agent.write_rows",
    "Seat": "safety.records.seats",
    "seat": "run.desktops.seat",
    "WorkList": "agent.lists.work_list",
    "fan_out": "agent.lists.fan_out",
    "BusinessFailure": "core.errors",
    "read_rows": "office.read_rows",
    "current_run": "run.run",
    "progress": "run.run",
    "Redaction": "safety.masking.settings",
    "Rules": "safety.policy",
    "SecretSpec": "run.rules.secret_sources",
    "is_done": "agent.subgoal",
    "pursue": "agent.pursue",
    "subgoal": "agent.subgoal",
}

__all__ = [
    "NOT_DONE",
    "Absent",
    "Agents",
    "Answer",
    "AnyOf",
    "Api",
    "Asked",
    "Box",
    "BusinessFailure",
    "DesktopFailed",
    "Discover",
    "Effect",
    "EvidenceFailed",
    "GaveUp",
    "HandOff",
    "HandOffOpened",
    "Hands",
    "HoloError",
    "Hooks",
    "Interruption",
    "InvalidUsage",
    "ItemFinished",
    "Killed",
    "Learn",
    "LimitHit",
    "LimitReached",
    "Limits",
    "ModelFailed",
    "NeedsPerson",
    "NotDone",
    "Outcome",
    "Picture",
    "PolicyRefused",
    "Rdp",
    "Redaction",
    "RedactionFailed",
    "Route",
    "Rules",
    "RunOptions",
    "Screens",
    "Script",
    "Seat",
    "SecretSpec",
    "SharedFile",
    "SharedFiles",
    "State",
    "StepTaken",
    "SubgoalOptions",
    "Text",
    "TokenConflict",
    "Vnc",
    "Way",
    "Widget",
    "Window",
    "WorkList",
    "agent_step",
    "calibrate",
    "cost_guardrail",
    "current_run",
    "fan_out",
    "hand_over",
    "is_done",
    "judge",
    "learned",
    "limits",
    "localize",
    "mailed_codes",
    "open_agent",
    "open_agents",
    "open_in_dialog",
    "progress",
    "publish_markdown",
    "publish_table",
    "pursue",
    "read_rows",
    "recover_to",
    "save_in_dialog",
    "screens_of",
    "seat",
    "shared_files",
    "step",
    "subgoal",
    "write_rows",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'holo_tasks' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.{_MODULES[name]}"), name)
