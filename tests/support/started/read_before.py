"""Share OCR results between the processes of a test run, because they depend on the pixels alone.

OCR takes most of an audit's time, and tests of whole programs do not depend on which process runs it. ``readings.zip``
has the results of earlier runs. It is valid only for the same engine: the same libraries and the same code. ``make
durations`` writes it anew, with some of the pictures, and `tests/vision` reads those again. The tests' own process runs
OCR itself in tests of OCR (`known_readings` in the conftest).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import json
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER, ANEW = "PYTHON_HOLO_READ", "PYTHON_HOLO_READ_ANEW"
"""Variables for the folder (without it every process runs OCR itself), and for ignoring the stored results."""
KEPT = Path(__file__).with_name("readings.zip")
SOURCE = Path(__file__).parents[3] / "holo_tasks" / "vision" / "ocr.py"
SHOWN, SMALL, MOST = "0", 20_000, 40
"""Key prefix of results stored with their picture, the maximal size of such a picture in bytes, and their maximal
number.
"""


def for_children(environ: MutableMapping[str, str], folder: Path) -> None:
    """Let processes started with this environment share their OCR results, in a default folder unless one is set."""
    environ.setdefault(FOLDER, str(folder / "read"))
    here = str(Path(__file__).parent)
    known = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != here]
    environ["PYTHONPATH"] = os.pathsep.join([here, *known])
    for finder in [one for one in sys.meta_path if type(one).__name__ == "WhenLoaded"]:
        sys.meta_path.remove(finder)  # another process of the test run started this one


def share() -> None:
    """Let this process reuse known OCR results, and add its own to the folder."""
    if folder := os.environ.get(FOLDER):
        from holo_tasks.vision.ocr import Ocr

        if hasattr(Ocr, "shared"):
            return
        Ocr.shared = True  # type: ignore[attr-defined]
        Ocr.find, Ocr.read = sharing(Path(folder))  # type: ignore[method-assign]


def sharing(folder: Path) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return functions that search and read a picture unless its result is known, and store the results in a folder."""
    from holo_tasks.core.screen.geometry import Box
    from holo_tasks.vision.ocr import Ocr

    folder.mkdir(parents=True, exist_ok=True)
    find = _kept(folder, "boxes", Ocr.find)
    read = _kept(folder, "text", Ocr.read)
    return lambda ocr, part: [Box(**box) for box in find(ocr, part)], lambda ocr, piece: tuple(read(ocr, piece))


def key_of(kind: str, pixels: Any) -> str:
    """Return the key of a picture's result of some kind."""
    return hashlib.blake2b(pixels.tobytes() + repr((kind, pixels.shape)).encode(), digest_size=12).hexdigest()


def engine() -> str:
    """Return a description of everything except the picture that affects OCR results."""
    versions = [f"{name} {version(name)}" for name in ("rapidocr", "onnxruntime", "opencv-python-headless", "numpy")]
    return f"{', '.join(versions)}, {hashlib.sha256(_code_of(SOURCE).encode()).hexdigest()[:16]}"


def _code_of(path: Path) -> str:
    """Return the code of a module without comments and docstrings, which do not affect its results."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_text(part)]
    return ast.unparse(tree)


def _is_text(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)


def known(path: Path = KEPT) -> Mapping[str, Any]:
    """Return the results of earlier runs by key. Empty if another engine made them, or if they are ignored."""
    return {} if os.environ.get(ANEW) else kept_readings(path)


@functools.cache
def kept_readings(path: Path = KEPT) -> Mapping[str, Any]:
    """Return the stored results by key. Empty if another engine made them."""
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as kept:
        told = json.loads(kept.read("readings.json"))
    return dict(told["readings"]) if told["engine"] == engine() else {}


def pictures(path: Path = KEPT) -> dict[str, bytes]:
    """Return the stored pictures as PNG, by their keys."""
    with zipfile.ZipFile(path) as kept:
        return {Path(name).stem: kept.read(name) for name in kept.namelist() if name.endswith(".png")}


def keep(folder: Path, path: Path = KEPT) -> None:
    """Store the results of a test run's folder for later runs."""
    found = {one.name: json.loads(one.read_text(encoding="utf-8")) for one in folder.iterdir() if "." not in one.name}
    told = json.dumps({"engine": engine(), "readings": dict(sorted(found.items()))})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as kept:
        kept.writestr(zipfile.ZipInfo("readings.json"), told, zipfile.ZIP_DEFLATED)
        for one in sorted(folder.glob("*.png"))[:MOST]:
            kept.writestr(zipfile.ZipInfo(one.name), one.read_bytes())


def _kept(folder: Path, kind: str, work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def kept(ocr: Any, pixels: Any) -> Any:
        key = key_of(kind, pixels)
        if (before := known().get(key)) is not None:
            return before
        path = folder / key
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
        found = json.dumps(work(ocr, pixels), default=asdict)
        _write(path, found.encode())
        if key.startswith(SHOWN) and os.environ.get(ANEW) and pixels.nbytes <= SMALL and kind == "text":
            _write(path.with_suffix(".png"), _png(pixels))
        return json.loads(found)

    return kept


def _write(path: Path, text: bytes) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    beside.write_bytes(text)
    beside.replace(path)  # atomic, because a writer may be killed


def _png(pixels: Any) -> bytes:
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(pixels[..., ::-1]).save(written, "PNG")  # OpenCV has the channels in reverse order
    return written.getvalue()
