"""A playbook in the shadow of the model: what it would have done on the model's pictures, beside what the model did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holo_tasks.audit.reader import Trace
from holo_tasks.compiler.answers import value_of
from holo_tasks.compiler.dry_run import check_dry_run
from holo_tasks.compiler.recording import Recording
from holo_tasks.compiler.sights import read, told_apart
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.params import typed
from holo_tasks.scripts.playbook import Playbook
from holo_tasks.vision.ocr_reader import Reader


def difference(
    playbook: Playbook, goal: str, values: Mapping[str, Any], trace: Trace, recording: Recording, reader: Reader
) -> str:
    """Say where a playbook decides otherwise than the model did in a recording; empty where it agrees in all.

    It decides on each picture that the model decided on, and nothing of it is done. What it reads as the answer has to
    be what the model answered, too; where it has the model asked for that, nothing is compared.
    """
    wanted = playbook.goals[goal]
    try:
        given = typed(goal, wanted.params, values, wanted.values)
        sights = read(trace, [recording], reader)
        seen = told_apart([(picture, sights[picture.sha256]) for picture in recording.pictures])
        ended = check_dry_run(playbook, goal, recording, given, seen, recording.steps)
    except InvalidUsage as error:
        return str(error)
    call = ended.step["tool_call"]
    if call["tool_name"] == "answer" and value_of(str(call["content"])) != value_of(recording.answer):
        return f"At the end of {recording.trace} it reads another answer than the model gave."
    return ""
