"""Make the picture of a redacted screen that is sent to a model, and the event that describes it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from holo_tasks.core import events
from holo_tasks.core.elements.known_elements import TextFilter
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.ports import Encoder
from holo_tasks.core.screen.calibration import Correction
from holo_tasks.core.screen.frame import Frame, Mask, RedactedFrame, Shot
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.window_titles import shareable_titles


@dataclass(frozen=True)
class NewestScreen:
    """The newest settled screen: its original, masked and encoded forms.

    ``frame`` is the original, ``redacted`` is masked, and ``shot`` is the encoded picture. ``sent`` is the part of
    ``redacted`` that was encoded, with drawings on it.
    """

    frame: Frame
    shot: Shot
    redacted: Frame
    sent: Frame
    withheld: bool = False
    """Whether a window is masked as a whole, because a typed secret may show there."""
    masks: tuple[Mask, ...] = ()
    """The masked areas of the whole screen."""


def part_of(frame: Frame, region: Box | None) -> Box | None:
    """Return the part of a screen that is shown: the region, or the desktop's monitor; ``None`` for the whole screen.

    Raises `InvalidUsage` for a region that is not on that monitor.
    """
    if frame.monitor is None or region is None:
        return region or frame.monitor
    if not frame.monitor.encloses(region):
        raise InvalidUsage(f"The region {region} is not on the agent's monitor, which is {frame.monitor}.")
    return region


async def shot_of(
    redacted: RedactedFrame, encoder: Encoder, known: NewestScreen | None, correction: Correction | None = None
) -> Shot:
    """Return the encoded picture of a screen. To save time, an unchanged picture is not encoded again."""
    sent = redacted.frame
    if known is not None and known.sent.size == sent.size and known.sent.rgb == sent.rgb:
        return replace(known.shot, encode_ns=0, correction=correction)
    # The digest of all pixels takes as long as their encoding, so both run at once.
    shot, _ = await asyncio.gather(asyncio.to_thread(encoder.encode, redacted), asyncio.to_thread(lambda: sent.digest))
    return replace(shot, correction=correction)


def frame_taken(
    frame: Frame, shot: Shot, redacted: RedactedFrame, text_filter: TextFilter | None = None, *, redact_us: int = 0
) -> events.FrameTaken:
    """Return the event that describes a frame and its picture.

    Window titles are filtered by ``text_filter``. Without it they are left out.
    """
    return events.FrameTaken(
        sha256=shot.sha256,
        media_type=shot.media_type,
        size_bytes=len(shot.data),
        sent_width=shot.sent_size.width,
        sent_height=shot.sent_size.height,
        screen_width=shot.screen.width,
        screen_height=shot.screen.height,
        frame_digest=shot.frame_digest,
        region=corners(redacted.region),
        masks=[events.MaskedArea(kind=mask.kind, box=corners(mask.box)) for mask in redacted.masks],
        settled=frame.settled,
        settle_us=frame.settle_ns // 1000,
        quiet_us=frame.quiet_ns // 1000,
        capture_us=frame.capture_ns // 1000,
        redact_us=redact_us,
        encode_us=shot.encode_ns // 1000,
        correction=shot.correction.event_values() if shot.correction else [],
        windows=[] if text_filter is None else shareable_titles(frame, redacted.region, redacted.masks, text_filter),
        waited_us=frame.activity.waited_ns // 1000,
        waiting_for=frame.activity.pending_work,
        unseen=list(frame.activity.unseen),
    )


def corners(box: Box | None) -> list[int]:
    """Return a box in the form that events hold: left, top, width, height. Returns an empty list for ``None``."""
    return [] if box is None else [box.left, box.top, box.width, box.height]
