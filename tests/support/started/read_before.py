"""What OCR says of a picture follows from its pixels alone: what one process has read, all others of a test run know.

Reading takes most of an audit's time, and nothing that tests of whole programs hold depends on who has read a picture
first. What earlier runs have read is kept in ``readings.zip``, which counts only for the engine that read it: for these
libraries and this source. ``make durations`` writes it anew, with some of the pictures, which `tests/vision` has read
again. The tests' own process reads for itself where reading is what is tested (`known_readings` in the conftest).
"""

from __future__ import annotations

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
"""The variables that name the folder, without which every process reads for itself, and have nothing kept count."""
KEPT = Path(__file__).with_name("readings.zip")
SOURCE = Path(__file__).parents[3] / "holo_tasks" / "vision" / "ocr.py"
SHOWN, SMALL, MOST = "0", 20_000, 40
"""How the keys begin of what is kept with its picture, how many bytes those have at most, and how many there are."""


def for_children(environ: MutableMapping[str, str], folder: Path) -> None:
    """Have the processes that are started with this environment share what they read, in a folder unless one is set."""
    environ.setdefault(FOLDER, str(folder / "read"))
    here = str(Path(__file__).parent)
    known = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != here]
    environ["PYTHONPATH"] = os.pathsep.join([here, *known])
    for finder in [one for one in sys.meta_path if type(one).__name__ == "WhenLoaded"]:
        sys.meta_path.remove(finder)  # this process was started by another one of the test run


def share() -> None:
    """Have this process read no picture that is known, and leave in the folder what it reads."""
    if folder := os.environ.get(FOLDER):
        from holo_tasks.vision.ocr import Ocr

        if hasattr(Ocr, "shared"):
            return
        Ocr.shared = True  # type: ignore[attr-defined]
        Ocr.find, Ocr.read = sharing(Path(folder))  # type: ignore[method-assign]
        Ocr.loaded = one_engine(Ocr.loaded)  # type: ignore[method-assign]


def one_engine(load: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what gives all readers of a process one engine, which is loaded as it is first asked: that takes a second.

    One thread uses it at a time.
    """
    turn, loaded = threading.Lock(), {}

    def engine_of(ocr: Any) -> Any:
        def in_turn(*given: Any, **named: Any) -> Any:
            with turn:
                if ocr._threads not in loaded:
                    loaded[ocr._threads] = load(ocr)
                return loaded[ocr._threads](*given, **named)

        return in_turn

    return engine_of


def sharing(folder: Path) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return how pictures are searched and read where those that are known are not; they are kept in a folder."""
    from holo_tasks.core.screen.geometry import Box
    from holo_tasks.vision.ocr import Ocr

    folder.mkdir(parents=True, exist_ok=True)
    find = _kept(folder, "boxes", Ocr.find)
    read = _kept(folder, "text", Ocr.read)
    return lambda ocr, part: [Box(**box) for box in find(ocr, part)], lambda ocr, piece: tuple(read(ocr, piece))


def key_of(kind: str, pixels: Any) -> str:
    """Return what a picture's reading of some kind is known by."""
    return hashlib.blake2b(pixels.tobytes() + repr((kind, pixels.shape)).encode(), digest_size=12).hexdigest()


def engine() -> str:
    """Return what decides what is read, apart from the picture."""
    versions = [f"{name} {version(name)}" for name in ("rapidocr", "onnxruntime", "opencv-python-headless", "numpy")]
    return f"{', '.join(versions)}, {hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}"


def known(path: Path = KEPT) -> Mapping[str, Any]:
    """Return what earlier runs have read, by key; nothing if another engine read it, or all is to be read anew."""
    return {} if os.environ.get(ANEW) else kept_readings(path)


@functools.cache
def kept_readings(path: Path = KEPT) -> Mapping[str, Any]:
    """Return what is kept of what earlier runs have read, by key; nothing if another engine read it."""
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as kept:
        told = json.loads(kept.read("readings.json"))
    return dict(told["readings"]) if told["engine"] == engine() else {}


def pictures(path: Path = KEPT) -> dict[str, bytes]:
    """Return some of the pictures, as PNG, by their keys."""
    with zipfile.ZipFile(path) as kept:
        return {Path(name).stem: kept.read(name) for name in kept.namelist() if name.endswith(".png")}


def keep(folder: Path, path: Path = KEPT) -> None:
    """Keep what is in the folder of a test run for later ones."""
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
    beside.replace(path)  # whole, or not at all: whoever writes may be killed


def _png(pixels: Any) -> bytes:
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(pixels[..., ::-1]).save(written, "PNG")  # OpenCV's order of the channels is the other one
    return written.getvalue()
