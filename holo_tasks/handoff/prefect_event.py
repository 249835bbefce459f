"""Tell people that a hand-off, such as an approval, waits for them: by a Prefect event.

A Prefect automation turns the event into a mail or a chat message. A flow gets the same from the hook ``on_handoff``
(`run.hooks`).
"""

from __future__ import annotations

from prefect.context import FlowRunContext
from prefect.events import emit_event

from holo_tasks.handoff.page import command
from holo_tasks.run.run import Run
from holo_tasks.safety.records.handoffs import Handoff

EVENT = "holo.handoff.opened"


def notify(handoff: Handoff, run: Run) -> None:
    """Emit the Prefect event of an open hand-off. It does not contain the link to the desktop."""
    context = FlowRunContext.get()
    name = context.flow_run.name if context and context.flow_run else run.title
    deployment = {"prefect.resource.id": f"prefect.deployment.{run.deployment_id}"}
    emit_event(
        event=EVENT,
        resource={"prefect.resource.id": f"prefect.flow-run.{run.flow_run_id}", "prefect.resource.name": name},
        related=[deployment | {"prefect.resource.role": "deployment"}] if run.deployment_id else [],
        payload={
            "handoff": handoff.id,
            "question": handoff.question,
            "choices": list(handoff.choices),
            "expires_at": handoff.expires_at,
            "command": command(handoff),
            "token": handoff.token,
        },
    )
