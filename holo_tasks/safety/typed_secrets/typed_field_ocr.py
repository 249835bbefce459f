"""Mask typed secrets by OCR: find their values on each frame after the first typing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.errors import HoloError
from holo_tasks.core.ports import Masker
from holo_tasks.core.screen.frame import Frame, Mask
from holo_tasks.core.secrets.codes import NO_CODES, Codes
from holo_tasks.safety.masking.texts import SECRET
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields

SIZES = 96
"""Pixels. The width of a value's mask is rounded up to a multiple of this."""

logger = logging.getLogger(__name__)


class TypedTexts:
    """Masks the values of secrets that ``texts`` reads, and decides about the fields that `TypedFields` has lost.

    It runs after the maskers by place, on the frame with their masks painted over. ``asked_for`` is true if the user
    configured ``texts``. ``texts`` then reads each frame, and its failure blocks the frame. The same holds once one of
    ``codes`` has arrived by mail. Otherwise, if ``texts`` fails, the windows of lost fields are masked as without OCR.
    """

    def __init__(self, fields: TypedFields, texts: Masker, *, asked_for: bool, codes: Codes = NO_CODES) -> None:
        self._codes = codes
        self._fields = fields
        self._texts = texts
        self._asked_for = asked_for
        fields.reads = True

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        """Return masks for the values that were read, and for lost fields that need more."""
        asked_for = self._asked_for or self._codes.came
        if not (asked_for or (self._fields.any and self._fields.reads)):
            return ()
        try:
            found = await self._texts.masks(frame)
        except HoloError:
            raise
        except Exception as error:
            if asked_for:
                raise
            logger.warning(
                "OCR of the screen failed (%s), so typed secrets are found by their pixels only.",
                type(error).__name__,  # the error's text may quote the screen
            )
            return self._fields.unread()
        judged = self._fields.judged(frame, [mask.box for mask in found if mask.kind == SECRET])
        return [
            *(_with_rounded_width(mask, frame.size.width) if mask.kind == SECRET else mask for mask in found),
            *judged,
        ]


def _with_rounded_width(mask: Mask, screen: int) -> Mask:
    """Return a mask whose width is rounded up, so that it does not reveal the number of characters."""
    box = mask.box
    width = min(-(-box.width // SIZES) * SIZES, screen - box.left)
    return replace(mask, box=replace(box, width=max(box.width, width)))
