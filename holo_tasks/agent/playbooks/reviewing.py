"""`review_proposals`: a person decides in Prefect on the proposed changes of a playbook, in a form of a paused run."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

from holo_tasks.audit.pages.gesture_marks import Ring
from holo_tasks.audit.pages.thumbnails import smaller
from holo_tasks.audit.pages.timeline import code, escaped
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.person import Answer
from holo_tasks.handoff.pause import Pausing
from holo_tasks.healing.decide import decide, opened
from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.proposal import Proposal
from holo_tasks.run.prefect_edge.artifacts import publish_markdown, publish_table
from holo_tasks.run.prefect_edge.flow_context import flow_run_id
from holo_tasks.scripts.playbook import load_playbook

APPLY, REJECT, LEAVE = "apply", "reject", "leave it open"
POLL_S = 1.0
DAY_S = 86_400.0
WIDE, NARROW, QUALITY = 900, 420, 60
"""Width of the pictures in the artifact and in the form, in pixels, and their JPEG quality."""
Became = Literal["applied", "rejected", "left open", "decided elsewhere", "cannot be applied"]

logger = logging.getLogger("holo_tasks.review")


@dataclass(frozen=True)
class Reviewed:
    """The decision on a proposal. ``reason`` is the person's note, or why the proposal cannot be applied."""

    id: str
    step: str
    became: Became
    reason: str = ""
    by: str = ""


async def review_proposals(file: Path, timeout_seconds: float = DAY_S) -> list[Reviewed]:
    """Let a person decide on each open proposal of a playbook, in the present flow run.

    The run is paused for each proposal, with a form that shows the change and both screens. An artifact shows the same
    in large. A decision in a shell meanwhile also counts. Raises `InvalidUsage` outside of a flow run, or if the file
    is not a playbook.
    """
    inside = flow_run_id()
    if not inside:
        raise InvalidUsage("review_proposals() pauses a flow run: call it in a flow.")
    folder = HealingFolder(file)
    await asyncio.to_thread(load_playbook, file)
    until_s, found = time.monotonic() + timeout_seconds, list[Reviewed]()
    waiting = list((await asyncio.to_thread(opened, folder)).values())
    for place, one in enumerate(waiting, start=1):
        await publish_markdown(f"proposal-{one.id}", page(folder, one, WIDE), f"What would change: {one.step}")
        reported = await _ask_about(folder, one, inside, f"{place} of {len(waiting)}", until_s)
        (logger.warning if reported.became == "cannot be applied" else logger.info)(
            "%s: %s", reported.step, reported.became
        )
        found.append(reported)
    rows = [asdict(one) for one in found]
    if rows:
        await publish_table(f"reviewed-{file.stem}", rows, f"What became of the proposals for {file.name}")
    return found


async def _ask_about(folder: HealingFolder, one: Proposal, inside: str, place: str, until_s: float) -> Reviewed:
    """Ask about one proposal until it is decided or the time is up."""
    message = f"May a step of {folder.file.name} be found another way? ({place})"
    pausing = Pausing(
        f"review-{one.id}-{uuid4().hex}",
        (APPLY, REJECT, LEAVE),
        page(folder, one, NARROW),
        message,
        note="Why; it is kept with the proposal.",
        asks="Apply it if the mark on the new picture is on the target of the step.",
    )
    pausing.begin([inside], max(1.0, until_s - time.monotonic()))
    try:
        answer = None
        while answer is None and time.monotonic() < until_s:
            await asyncio.sleep(POLL_S)
            answer = await pausing.answered()
            if answer is None and one.id not in await asyncio.to_thread(opened, folder):
                return Reviewed(one.id, one.step, "decided elsewhere")
    finally:
        await pausing.end()
    return await asyncio.to_thread(_carry_out_decision, folder, one, answer)


def _carry_out_decision(folder: HealingFolder, one: Proposal, answer: Answer | None) -> Reviewed:
    if answer is None or answer.choice == LEAVE:
        said = ("", "") if answer is None else (answer.note, answer.by)
        return Reviewed(one.id, one.step, "left open", *said)
    status: Literal["applied", "rejected"] = "applied" if answer.choice == APPLY else "rejected"
    try:
        decide(folder, one.id, status, answer.note, answer.by)
    except InvalidUsage as error:
        return Reviewed(one.id, one.step, "cannot be applied", str(error), answer.by)
    return Reviewed(one.id, one.step, status, answer.note, answer.by)


def page(folder: HealingFolder, one: Proposal, width: int) -> str:
    """Return Markdown with the proposed change, its reason, and both pictures with the marked place."""
    checked = "verified" if one.verified else "not verified: look at the pictures"
    runs = "1 run" if one.times == 1 else f"{one.times} runs"
    shell = f"holo-tasks playbook review {folder.file.name}"
    parts = [
        f"### {escaped(one.step.rstrip('.'), 120)}",
        f"{escaped(one.why, 600)}",
        "```diff\n" + "\n".join(_line(line) for line in one.diff) + "\n```",
        *_pictures(folder, one, width),
        f"Proposed in {runs}, {checked}; from {code(one.run)}. In a shell: {code(shell)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _line(line: str) -> str:
    """Return a line of a diff with its sign first, so that viewers color it, and without marks of a code block."""
    plain = line.replace("```", "'''").replace("\n", " ")
    body = plain.strip()
    return f"{body[0]} {body[1:].strip()}" if body[:1] in ("+", "-") else f"  {body}"


def _pictures(folder: HealingFolder, one: Proposal, width: int) -> Sequence[str]:
    found = []
    for name, called, point in (
        ("old", "The screen on which the step fitted before", one.old_point),
        ("new", "The screen now, with the target that the model used", one.point if one.kind == "target" else None),
    ):
        path = folder.picture(one, name)
        rings = [] if point is None else [Ring(*point)]
        small = path and smaller(path.read_bytes(), width=width, quality=QUALITY, drawn=rings, shown=(0, 0, 1000, 1000))
        if small:
            found.append(f"**{called}:**")
            found.append(f"![{called}](data:image/jpeg;base64,{base64.b64encode(small.data).decode('ascii')})")
        else:
            found.append(f"*{called}: no picture.*")
    return found
