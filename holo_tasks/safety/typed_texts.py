"""Looks by reading for the values that were typed, on every screen since the first of them was."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from holo_tasks.core.codes import NO_CODES, Codes
from holo_tasks.core.errors import HoloError
from holo_tasks.core.frame import Frame, Mask
from holo_tasks.core.ports import Masker
from holo_tasks.safety.masking.texts import SECRET
from holo_tasks.safety.typed_fields import TypedFields

SIZES = 96
"""Masks of values that were read are so many pixels wide, or a multiple of it."""

logger = logging.getLogger(__name__)


class TypedTexts:
    """Masks what ``texts`` reads as the value of a secret, and decides on the fields that `TypedFields` has lost.

    It sees what the masks by place left of a screen, so it comes after them. ``asked_for`` says that a person wants
    ``texts``: it is used from the first screen on, and its failure leaves no frame; so it is from when one of ``codes``
    came by mail. Else its failure makes of lost fields what they are where nothing can read: their windows are masked.
    """

    def __init__(self, fields: TypedFields, texts: Masker, *, asked_for: bool, codes: Codes = NO_CODES) -> None:
        self._codes = codes
        self._fields = fields
        self._texts = texts
        self._asked_for = asked_for
        fields.reads = True

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        """Return what is read, and the windows of lost fields of which that is not enough."""
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
                "The screen could not be read (%s), so secrets that were typed are looked for by their pixels only.",
                type(error).__name__,  # its text may quote the screen
            )
            return self._fields.unread()
        judged = self._fields.judged(frame, [mask.box for mask in found if mask.kind == SECRET])
        return [*(_widened(mask, frame.size.width) if mask.kind == SECRET else mask for mask in found), *judged]


def _widened(mask: Mask, screen: int) -> Mask:
    """Return a mask that is as wide as those of values that are somewhat shorter or longer: nobody counts its signs."""
    box = mask.box
    width = min(-(-box.width // SIZES) * SIZES, screen - box.left)
    return replace(mask, box=replace(box, width=max(box.width, width)))
