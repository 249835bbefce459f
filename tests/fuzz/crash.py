"""A defect found by an input. One file per place in the code, with the smallest input found."""

from __future__ import annotations

import hashlib
import json
import re
import traceback
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
OUTPUT = HERE / "crashes-output"


@dataclass(frozen=True)
class Crash:
    """A failure with an input. ``where`` and ``what`` identify the defect; ``told`` is a description for people."""

    target: str
    what: str
    where: str
    told: str

    @property
    def name(self) -> str:
        return f"{self.target}-{self.what}-{hashlib.sha256(f'{self.what} {self.where}'.encode()).hexdigest()[:8]}"

    def keep(self, data: bytes, folder: Path) -> Path:
        """Write the input to its file, unless the file has a smaller one. Return the file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.name
        if not path.exists() or len(data) < path.stat().st_size:
            path.write_bytes(data)
            again = f".venv/bin/python -m tests.fuzz.fuzz --again {path.resolve()}"
            path.with_name(f"{path.name}.txt").write_text(
                f"run it again: {again}\n\n{self.what} at {self.where}\n{self.told}\n"
            )
        return path

    def line(self) -> str:
        return json.dumps({"crash": [self.target, self.what, self.where, self.told[:4000]], "name": self.name})


def of_error(target: str, error: BaseException) -> Crash:
    """Return the crash of an unexpected exception."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/holo_tasks/" in frame.filename] or [
        frame for frame in frames if "/tests/fuzz/" in frame.filename
    ]
    last = (ours or frames)[-1] if frames else None
    where = f"{Path(last.filename).name}:{last.name}" if last else "nowhere"
    if type(error).__name__ == "Defect":
        where = re.sub(r"[\d'\"‘’].*", "", str(error))[:80]
    told = "".join(traceback.format_exception(error, limit=-25))
    return Crash(target, type(error).__name__, where, told[-6000:])
