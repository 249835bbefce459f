"""Run the OCR engine: RapidOCR with the model weights of its wheel, without network or GPU.

`Ocr` is used by `ocr_reader` and `band_reader`.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box
from holo_tasks.machine.memory import return_free_memory, return_larger_than_screens

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

_KNOWN_PIECES = 4096
_LARGE_PART = 250_000
"""Pixels from which a search for text takes so much memory that it is returned at once."""
_IDLE: defaultdict[int, list[Any]] = defaultdict(list)
"""Loaded engines of this process that are not in use, by their thread counts."""
_IDLE_LOCK = threading.Lock()


class Ocr:
    """Detects and recognizes text. Recognized pieces are cached by their pixels. Only one thread at a time may use it.

    All objects of a process share its engines: each call borrows an idle one, or loads one if all are in use.
    ``threads`` is the engine's thread count. More than one thread busy-waits for work, which slows down a shared
    machine.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = min(2, threads)
        self._pieces: OrderedDict[bytes, tuple[str, float]] = OrderedDict()

    def find(self, part: Pixels) -> list[Box]:
        """Return boxes around the texts of a picture in OpenCV's channel order."""
        with self._engine() as engine:
            found = engine(part, use_det=True, use_cls=False, use_rec=False)
        if part.shape[0] * part.shape[1] >= _LARGE_PART:
            return_free_memory()
        boxes = []
        for quad in [] if found.boxes is None else found.boxes:
            left, top = (max(0, int(edge)) for edge in quad.min(axis=0))
            right, bottom = (int(edge) + 1 for edge in quad.max(axis=0))
            height, width = part[top:bottom, left:right].shape[:2]
            if height >= 5 and width >= 5:
                boxes.append(Box(left, top, width, height))
        return boxes

    def read(self, piece: Pixels) -> tuple[str, float]:
        """Return the text of a piece of a picture, and the confidence from 0 to 1."""
        key = hashlib.blake2b(piece.tobytes(), digest_size=16).digest() + repr(piece.shape).encode()
        known = self._pieces.get(key)
        if known is None:
            with self._engine() as engine:
                found = engine(piece, use_det=False, use_cls=False, use_rec=True)
            texts, scores = found.txts or ("",), found.scores or (0.0,)
            known = self._pieces[key] = (texts[0].strip(), float(scores[0]))
            if len(self._pieces) > _KNOWN_PIECES:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(key)
        return known

    def warm_up(self) -> None:
        """Load an engine now, unless one is idle."""
        with self._engine():
            pass

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        """Borrow an engine. The first call of a process loads it, which takes about a second."""
        with _IDLE_LOCK:
            engine = _IDLE[self._threads].pop() if _IDLE[self._threads] else None
        engine = engine or _loaded(self._threads)
        try:
            yield engine
        finally:
            with _IDLE_LOCK:
                _IDLE[self._threads].append(engine)


def _loaded(threads: int) -> Any:
    import cv2
    from rapidocr import RapidOCR

    cv2.setNumThreads(1)  # its threads busy-wait for work after each call
    return_larger_than_screens()
    return RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            # Do not enlarge small pictures to 736 pixels, nor pad short words to 320.
            "Det.limit_side_len": 64,
            "Rec.rec_img_shape": [3, 48, 64],
            "Rec.rec_batch_num": 1,
        }
    )
