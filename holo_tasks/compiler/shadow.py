"""Compare a playbook in shadow with the model: its decisions on the pictures of a run with those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holo_tasks.audit.reader import Trace
from holo_tasks.compiler.answers import value_of
from holo_tasks.compiler.dry_run import check_dry_run
from holo_tasks.compiler.read_pictures import grouped_by_screen, read
from holo_tasks.compiler.recording import Recording
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.params import typed
from holo_tasks.scripts.playbook import Playbook
from holo_tasks.vision.ocr_reader import Reader


def difference(
    playbook: Playbook, goal: str, values: Mapping[str, Any], trace: Trace, recording: Recording, reader: Reader
) -> str:
    """Return how a playbook's decisions differ from the model's in a recording. Empty if they agree.

    The playbook decides on each picture of the recording, and no decision is carried out. The answer that it reads
    has to equal the model's. An answer that the playbook asks the model for is not compared.
    """
    wanted = playbook.goals[goal]
    try:
        given = typed(goal, wanted.params, values, wanted.values)
        sights = read(trace, [recording], reader)
        seen = grouped_by_screen([(picture, sights[picture.sha256]) for picture in recording.pictures])
        ended = check_dry_run(playbook, goal, recording, given, seen, recording.steps)
    except InvalidUsage as error:
        return str(error)
    call = ended.step["tool_call"]
    if call["tool_name"] == "answer" and value_of(str(call["content"])) != value_of(recording.answer):
        return f"At the end of {recording.trace} it reads another answer than the model gave."
    return ""
