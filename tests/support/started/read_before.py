"""What OCR says of a picture follows from its pixels alone: what one process has read, all others of a test run know.

Reading takes most of an audit's time, and nothing that tests of whole programs hold depends on who has read a picture
first. The tests' own process, in which reading itself is tested, reads for itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, MutableMapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

FOLDER = "PYTHON_HOLO_READ"
"""The variable that names the folder; without it every process reads for itself."""


def for_children(environ: MutableMapping[str, str], folder: Path) -> None:
    """Have the processes that are started with this environment share what they read, in a folder unless one is set."""
    environ.setdefault(FOLDER, str(folder / "read"))
    here = str(Path(__file__).parent)
    known = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != here]
    environ["PYTHONPATH"] = os.pathsep.join([here, *known])
    for finder in [one for one in sys.meta_path if type(one).__name__ == "WhenLoaded"]:
        sys.meta_path.remove(finder)  # this process was started by another one of the test run


def share() -> None:
    """Have this process read no picture that is known in the folder, and leave there what it reads."""
    if folder := os.environ.get(FOLDER):
        from holo_tasks.core.geometry import Box
        from holo_tasks.vision.ocr import Ocr

        if hasattr(Ocr, "shared"):
            return
        Ocr.shared = True  # type: ignore[attr-defined]
        Path(folder).mkdir(parents=True, exist_ok=True)
        find = _kept(Path(folder), "boxes", Ocr.find)
        read = _kept(Path(folder), "text", Ocr.read)
        Ocr.find = lambda ocr, part: [Box(**box) for box in find(ocr, part)]  # type: ignore[method-assign]
        Ocr.read = lambda ocr, piece: tuple(read(ocr, piece))  # type: ignore[method-assign]


def _kept(folder: Path, kind: str, work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def kept(ocr: Any, pixels: Any) -> Any:
        key = hashlib.blake2b(pixels.tobytes() + repr((kind, pixels.shape)).encode(), digest_size=16).hexdigest()
        path = folder / key
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
        found = json.dumps(work(ocr, pixels), default=asdict)
        beside = folder / f"{key}.{os.getpid()}.{threading.get_ident()}"
        beside.write_text(found, encoding="utf-8")
        beside.replace(path)  # whole, or not at all: whoever writes may be killed
        return json.loads(found)

    return kept
