"""The calibrations that were made on this machine, for a person to see: the newest of each setting."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from holo_tasks.core.calibration import Calibration, Setting
from holo_tasks.core.visible_text import one_line
from holo_tasks.machine.private import open_private, private_folder

FOLDER = "calibrations"
LARGEST = 100_000
_CALIBRATION: TypeAdapter[Calibration] = TypeAdapter(Calibration)


def keep(home: Path | None, calibration: Calibration) -> None:
    """Keep a calibration for `holo-tasks doctor`; what cannot be written is no reason to stop."""
    if home is None:
        return
    with suppress(OSError):
        path = private_folder(home, FOLDER) / f"{_name(calibration.setting)}.json"
        with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(_CALIBRATION.dump_json(calibration))


def kept(home: Path, display: str) -> list[Calibration]:
    """Return what was measured on a display; a file that is damaged, or of another version, is passed over."""
    found = []
    for path in sorted((home / FOLDER).glob("*.json")):
        with suppress(OSError, ValidationError):
            if path.stat().st_size <= LARGEST:
                calibration = _CALIBRATION.validate_json(path.read_bytes())
                if calibration.setting.display == display:
                    found.append(calibration)
    return found


def said(calibration: Calibration) -> str:
    """Say in a sentence or a few what a calibration found."""
    setting, path, model = calibration.setting, calibration.path, calibration.model
    told = [f"Clicks there land within {path.worst_px:g} px." if path else "Where clicks land was not measured there."]
    told += [f"{one.application} counts 1 as {one.factor:g} px." for one in calibration.toolkits if one.factor != 1]
    if model is not None:
        off = f"{one_line(setting.model, 60)} is off by {model.before_px:g} px"
        done = f"corrected to {model.after_px:g} px" if model.correction else "not corrected, for that scatters"
        told.append(f"{off}, {done}.")
    return " ".join(told)


def _name(setting: Setting) -> str:
    return hashlib.sha256(json.dumps(asdict(setting), sort_keys=True).encode()).hexdigest()[:32]
