"""Encode redacted frames as the pictures that a model is sent."""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from PIL import Image

from holo_tasks.core.prompts.tool_calls import label
from holo_tasks.core.prompts.transcript import Turn
from holo_tasks.core.screen.frame import RedactedFrame, Shot
from holo_tasks.core.screen.geometry import Size
from holo_tasks.models.filmstrip import filmstrip

Tier = Literal["default", "dense", "full"]


@dataclass(frozen=True)
class JpegEncoder:
    """Encodes frames as JPEG, at most ``max_width`` pixels wide (``None`` keeps the size of the screen)."""

    media_type: ClassVar[str] = "image/jpeg"
    max_width: int | None = 1280
    quality: int = 85

    def encode(self, frame: RedactedFrame) -> Shot:
        started = time.perf_counter_ns()
        source = frame.frame
        image = Image.frombuffer("RGB", (source.size.width, source.size.height), source.rgb, "raw", "RGB", 0, 1)
        sent = fit_width(source.size, self.max_width)
        if sent != source.size:
            image = image.resize((sent.width, sent.height), Image.Resampling.LANCZOS)
        data = self._encode(image)
        return Shot(
            data=data,
            media_type=self.media_type,
            sha256=hashlib.sha256(data).hexdigest(),
            sent_size=sent,
            screen=frame.screen or source.size,
            frame_digest=source.digest,
            encode_ns=time.perf_counter_ns() - started,
            region=frame.region,
        )

    def strip(self, turns: Sequence[Turn]) -> Shot:
        """Return the screens after the last actions as one numbered, captioned picture, oldest first."""
        image = filmstrip([(turn.after.data, label(turn.step.tool_call)) for turn in turns])
        data = self._encode(image)
        size = Size(*image.size)
        digest = hashlib.sha256(data).hexdigest()
        return Shot(data, self.media_type, digest, sent_size=size, screen=size, frame_digest=digest)

    def _encode(self, image: Image.Image) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, format="JPEG", quality=self.quality)
        return buffer.getvalue()


@dataclass(frozen=True)
class PngEncoder(JpegEncoder):
    """Encodes frames as PNG without scaling, so that OCR of the picture equals OCR of the screen."""

    media_type: ClassVar[str] = "image/png"
    max_width: int | None = None

    def _encode(self, image: Image.Image) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, format="PNG", compress_level=6)
        return buffer.getvalue()


def fit_width(size: Size, max_width: int | None) -> Size:
    """Return the size scaled down to a width, with the same aspect ratio. It is never enlarged."""
    if max_width is None or size.width <= max_width:
        return size
    return Size(max_width, max(1, round(size.height * max_width / size.width)))


ENCODERS: dict[Tier, JpegEncoder] = {
    "default": JpegEncoder(),
    "dense": JpegEncoder(max_width=1600, quality=90),
    "full": JpegEncoder(max_width=None, quality=90),
}
"""Encoders by quality tier: for forms, for dense tables, and for full resolution."""
