"""Run Holo computer-use agents as Prefect flows.

A step of an agent is a pipeline. Each stage takes the type that the stage before it returns, so a type checker finds
stages in the wrong order:

    settle, capture   Frame           desktop.capture
    redact            RedactedFrame   safety.redaction
    encode            Shot            models.encoding
    record            event           audit.recorder, durable before the shot is sent
    predict           Reply           models.client, charged here
    parse             Step            models.dialects
    scale             Gesture         core.prompts.scaling
    permit            Permit          safety.policy, core.limits
    act               Receipt         desktop.input
    verify            Verdict         core.screen.verdicts
    record            event           audit.recorder

`loop.walk` has the stages, `loop.loop` runs them in sequence, and `agent` makes them Prefect runs.

This module is the public API for flows, with `holo_tasks.office` (mail and workbooks), `holo_tasks.audit` (traces and
reports) and `holo_tasks.desktop`. It imports a name when it is first used, because Prefect takes seconds to load.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holo_tasks.core.moved_modules import MovedModules

if TYPE_CHECKING:
    from holo_tasks.agent.agent_step import agent_step
    from holo_tasks.agent.cost_guardrail import cost_guardrail
    from holo_tasks.agent.earlier_work import earlier_work
    from holo_tasks.agent.flow import flow
    from holo_tasks.agent.judge import judge
    from holo_tasks.agent.limits import limits
    from holo_tasks.agent.lists.fan_out import fan_out
    from holo_tasks.agent.lists.work_list import WorkList
    from holo_tasks.agent.mailed_codes import MailedCodes, mailed_codes
    from holo_tasks.agent.open_agent import open_agent
    from holo_tasks.agent.open_agents import Agents, open_agents
    from holo_tasks.agent.playbooks.reviewing import review_proposals
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
        Unavailable,
        UnfitItem,
    )
    from holo_tasks.core.limits.budget import Limits
    from holo_tasks.core.limits.money import usd
    from holo_tasks.core.person import Answer, HandOff
    from holo_tasks.core.screen.calibration import Calibration
    from holo_tasks.core.screen.geometry import Box
    from holo_tasks.core.screen.monitors import Monitor
    from holo_tasks.core.screen.remote_screen import Rdp, Vnc
    from holo_tasks.core.screen.states import Absent, AnyOf, Asked, Picture, State, Text, Widget, Window
    from holo_tasks.core.shared_files import SharedFile
    from holo_tasks.handoff.hand_over import hand_over
    from holo_tasks.loop.screens import Interruption, Route, Screens, Way
    from holo_tasks.office.read_rows import read_rows
    from holo_tasks.prefect_server.temporary import TemporaryServer
    from holo_tasks.run.api_layer import Api
    from holo_tasks.run.desktops.seat import seat
    from holo_tasks.run.hooks import HandOffOpened, Hooks, ItemFinished, LimitHit, StepTaken
    from holo_tasks.run.items.deadlines import announce_deadlines
    from holo_tasks.run.items.fair_map import Outcome
    from holo_tasks.run.items.journal import NOT_DONE, NotDone
    from holo_tasks.run.janitor import release_abandoned
    from holo_tasks.run.learn import Learn, learned
    from holo_tasks.run.named_files import named_file, reports_folder
    from holo_tasks.run.prefect_edge.artifacts import publish_markdown, publish_table
    from holo_tasks.run.rules.secret_sources import SecretSpec
    from holo_tasks.run.run import Progress, Run, current_run, progress
    from holo_tasks.run.run_options import RunOptions
    from holo_tasks.run.subgoal_options import Effect, SubgoalOptions
    from holo_tasks.safety.masking.settings import Redaction
    from holo_tasks.safety.policy import Rules
    from holo_tasks.safety.records.handoffs import waiting_handoffs
    from holo_tasks.safety.records.seats import Seat
    from holo_tasks.safety.records.work_items import Priority
    from holo_tasks.scripts.file_dialogs import open_in_dialog, save_in_dialog
    from holo_tasks.scripts.hands import Hands
    from holo_tasks.scripts.script import Script, screens_of

_MODULES = {
    "Absent": "core.screen.states",
    "Agents": "agent.open_agents",
    "Answer": "core.person",
    "AnyOf": "core.screen.states",
    "Api": "run.api_layer",
    "Asked": "core.screen.states",
    "Box": "core.screen.geometry",
    "BusinessFailure": "core.errors",
    "Calibration": "core.screen.calibration",
    "DesktopFailed": "core.errors",
    "Discover": "core.elements.inventory",
    "Effect": "run.subgoal_options",
    "EvidenceFailed": "audit.errors",
    "GaveUp": "core.errors",
    "HandOff": "core.person",
    "HandOffOpened": "run.hooks",
    "Hands": "scripts.hands",
    "HoloError": "core.errors",
    "Hooks": "run.hooks",
    "Interruption": "loop.screens",
    "InvalidUsage": "core.errors",
    "ItemFinished": "run.hooks",
    "Killed": "core.errors",
    "Learn": "run.learn",
    "LimitHit": "run.hooks",
    "LimitReached": "core.errors",
    "Limits": "core.limits.budget",
    "MailedCodes": "agent.mailed_codes",
    "ModelFailed": "core.errors",
    "Monitor": "core.screen.monitors",
    "NOT_DONE": "run.items.journal",
    "NeedsPerson": "core.errors",
    "NotDone": "run.items.journal",
    "Outcome": "run.items.fair_map",
    "Picture": "core.screen.states",
    "PolicyRefused": "core.errors",
    "Priority": "safety.records.work_items",
    "Progress": "run.run",
    "Rdp": "core.screen.remote_screen",
    "Redaction": "safety.masking.settings",
    "RedactionFailed": "core.errors",
    "Route": "loop.screens",
    "Rules": "safety.policy",
    "Run": "run.run",
    "RunOptions": "run.run_options",
    "Screens": "loop.screens",
    "Script": "scripts.script",
    "Seat": "safety.records.seats",
    "SecretSpec": "run.rules.secret_sources",
    "SharedFile": "core.shared_files",
    "SharedFiles": "agent.shared_files",
    "State": "core.screen.states",
    "StepTaken": "run.hooks",
    "SubgoalOptions": "run.subgoal_options",
    "TemporaryServer": "prefect_server.temporary",
    "Text": "core.screen.states",
    "TokenConflict": "core.errors",
    "Unavailable": "core.errors",
    "UnfitItem": "core.errors",
    "Vnc": "core.screen.remote_screen",
    "Way": "loop.screens",
    "Widget": "core.screen.states",
    "Window": "core.screen.states",
    "WorkList": "agent.lists.work_list",
    "agent_step": "agent.agent_step",
    "announce_deadlines": "run.items.deadlines",
    "calibrate": "agent.screen.calibrate",
    "cost_guardrail": "agent.cost_guardrail",
    "current_run": "run.run",
    "earlier_work": "agent.earlier_work",
    "fan_out": "agent.lists.fan_out",
    "flow": "agent.flow",
    "hand_over": "handoff.hand_over",
    "is_done": "agent.subgoal",
    "judge": "agent.judge",
    "learned": "run.learn",
    "limits": "agent.limits",
    "localize": "agent.screen.localize",
    "mailed_codes": "agent.mailed_codes",
    "named_file": "run.named_files",
    "open_agent": "agent.open_agent",
    "open_agents": "agent.open_agents",
    "open_in_dialog": "scripts.file_dialogs",
    "progress": "run.run",
    "publish_markdown": "run.prefect_edge.artifacts",
    "publish_table": "run.prefect_edge.artifacts",
    "pursue": "agent.pursue",
    "read_rows": "office.read_rows",
    "recover_to": "agent.screen.recover",
    "release_abandoned": "run.janitor",
    "reports_folder": "run.named_files",
    "review_proposals": "agent.playbooks.reviewing",
    "save_in_dialog": "scripts.file_dialogs",
    "screens_of": "scripts.script",
    "seat": "run.desktops.seat",
    "shared_files": "agent.shared_files",
    "step": "agent.step",
    "subgoal": "agent.subgoal",
    "usd": "core.limits.money",
    "waiting_handoffs": "safety.records.handoffs",
    "write_rows": "agent.write_rows",
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
    "Calibration",
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
    "MailedCodes",
    "ModelFailed",
    "Monitor",
    "NeedsPerson",
    "NotDone",
    "Outcome",
    "Picture",
    "PolicyRefused",
    "Priority",
    "Progress",
    "Rdp",
    "Redaction",
    "RedactionFailed",
    "Route",
    "Rules",
    "Run",
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
    "TemporaryServer",
    "Text",
    "TokenConflict",
    "Unavailable",
    "UnfitItem",
    "Vnc",
    "Way",
    "Widget",
    "Window",
    "WorkList",
    "agent_step",
    "announce_deadlines",
    "calibrate",
    "cost_guardrail",
    "current_run",
    "earlier_work",
    "fan_out",
    "flow",
    "hand_over",
    "is_done",
    "judge",
    "learned",
    "limits",
    "localize",
    "mailed_codes",
    "named_file",
    "open_agent",
    "open_agents",
    "open_in_dialog",
    "progress",
    "publish_markdown",
    "publish_table",
    "pursue",
    "read_rows",
    "recover_to",
    "release_abandoned",
    "reports_folder",
    "review_proposals",
    "save_in_dialog",
    "screens_of",
    "seat",
    "shared_files",
    "step",
    "subgoal",
    "usd",
    "waiting_handoffs",
    "write_rows",
]


sys.meta_path.append(MovedModules())


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'holo_tasks' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.{_MODULES[name]}"), name)
