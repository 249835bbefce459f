"""Run the OCR engine: RapidOCR with the model weights of its wheel, without network or GPU.

`Ocr` is used by `ocr_reader` and `band_reader`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.screen.geometry import Box

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

_KNOWN_PIECES = 4096


class Ocr:
    """Detects and recognizes text. Recognized pieces are cached by their pixels. Only one thread at a time may use it.

    ``threads`` is the engine's thread count. More than one thread busy-waits for work, which slows down a shared
    machine.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = min(2, threads)
        self._engine: Any = None
        self._pieces: OrderedDict[bytes, tuple[str, float]] = OrderedDict()

    def find(self, part: Pixels) -> list[Box]:
        """Return boxes around the texts of a picture in OpenCV's channel order."""
        found = self.loaded()(part, use_det=True, use_cls=False, use_rec=False)
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
            found = self.loaded()(piece, use_det=False, use_cls=False, use_rec=True)
            texts, scores = found.txts or ("",), found.scores or (0.0,)
            known = self._pieces[key] = (texts[0].strip(), float(scores[0]))
            if len(self._pieces) > _KNOWN_PIECES:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(key)
        return known

    def loaded(self) -> Any:
        """Return the engine. The first call loads it, which takes about a second."""
        if self._engine is None:
            from rapidocr import RapidOCR

            self._engine = RapidOCR(
                params={
                    "Global.log_level": "error",
                    "Global.use_cls": False,
                    "EngineConfig.onnxruntime.intra_op_num_threads": self._threads,
                    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                    # Do not enlarge small pictures to 736 pixels, nor pad short words to 320.
                    "Det.limit_side_len": 64,
                    "Rec.rec_img_shape": [3, 48, 64],
                    "Rec.rec_batch_num": 1,
                }
            )
        return self._engine
