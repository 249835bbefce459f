"""Prefect blocks for the model, the evidence, the desktop and the mailbox, with the agents that use them."""

from holo_blocks.agent import holo_agent, holo_agents
from holo_blocks.audit_bucket import AuditBucket
from holo_blocks.credentials import HoloCredentials
from holo_blocks.desktop import HoloDesktop
from holo_blocks.loading import load_block
from holo_blocks.mailbox import HoloMailbox
from holo_blocks.model import HoloModel
from holo_blocks.rehearsal import local_prefect, rehearsal_model

__all__ = [
    "AuditBucket",
    "HoloCredentials",
    "HoloDesktop",
    "HoloMailbox",
    "HoloModel",
    "holo_agent",
    "holo_agents",
    "load_block",
    "local_prefect",
    "rehearsal_model",
]
