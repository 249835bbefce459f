"""Store the newest calibration of each setting under ``HOLO_HOME``, for `holo-tasks doctor`.

`store` writes a calibration, `read_stored` reads all for a display, and `summary` describes one.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from holo_tasks.core.screen.calibration import Calibration, Setting
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.machine.private import open_private, private_folder

FOLDER = "calibrations"
LARGEST = 100_000
_CALIBRATION: TypeAdapter[Calibration] = TypeAdapter(Calibration)


def store(home: Path | None, calibration: Calibration) -> None:
    """Write a calibration to a file named after its setting. Write errors are ignored."""
    if home is None:
        return
    with suppress(OSError):
        path = private_folder(home, FOLDER) / f"{_name(calibration.setting)}.json"
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(_CALIBRATION.dump_json(calibration))


def read_stored(home: Path, display: str) -> list[Calibration]:
    """Return the calibrations measured on a display. Damaged files and files of another version are skipped."""
    found = []
    for path in sorted((home / FOLDER).glob("*.json")):
        with suppress(OSError, ValidationError):
            if path.stat().st_size <= LARGEST:
                calibration = _CALIBRATION.validate_json(path.read_bytes())
                if calibration.setting.display == display:
                    found.append(calibration)
    return found


def summary(calibration: Calibration) -> str:
    """Return one to a few sentences about a calibration: click error, toolkit factors, and the model's offset."""
    setting, path, model = calibration.setting, calibration.path, calibration.model
    sentences = [
        f"Clicks there land within {path.worst_px:g} px." if path else "The error of clicks was not measured there."
    ]
    sentences += [
        f"{one.application} counts 1 as {one.factor:g} px." for one in calibration.toolkits if one.factor != 1
    ]
    if model is not None:
        offset = f"{one_line(setting.model, 60)} is off by {model.before_px:g} px"
        result = (
            f"corrected to {model.after_px:g} px" if model.correction else "not corrected, because the samples scatter"
        )
        sentences.append(f"{offset}, {result}.")
    return " ".join(sentences)


def _name(setting: Setting) -> str:
    return hashlib.sha256(json.dumps(asdict(setting), sort_keys=True).encode()).hexdigest()[:32]
