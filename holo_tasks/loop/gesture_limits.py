"""Compute the time limit of a gesture, and the places of its secrets if it was interrupted."""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.core.elements.typed_field import moves_on
from holo_tasks.core.input.gestures import Gesture, Typed, Write, keys
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.secrets.secret import CODE_BEGINS, PLACEHOLDER
from holo_tasks.core.secrets.totp import LONGEST_S

SLIP_S, SLOW_KEY_S = 10.0, 0.1
"""Seconds for an action, and for each of its keys. The second is for programs that read their keys slowly."""
SLOW_OVERWRITE_S = 20.0
"""Additional seconds to empty a field: a slow program is waited for after the selection, and after the deletion.

Before Tab and Enter in a sheet, the program is also asked which cell has the keyboard, and whether it has opened.
"""
SLOW_SECRET_S, SLOW_FIELD_S = 12.0, 60.0
"""Additional seconds for each secret, and for a secret that is bound to a field.

A screen that never settles is looked at before and after each secret, and also in between if the secret has a field.
"""
SLOW_CODE_S = 2 * LONGEST_S + 5.0
"""Additional seconds for each one-time code, which may have to wait for the next code, or for other users of the seed.
"""
_INVERTED = bytes(range(255, -1, -1))


def secrets_in(gesture: Gesture) -> int:
    """Return the number of secrets that a gesture types."""
    return len(PLACEHOLDER.findall(gesture.text)) if isinstance(gesture, Write) else 0


def seconds_for(gesture: Gesture, field: Box | None) -> float:
    """Return the time limit of a gesture in seconds. ``field`` is the field that its secret is bound to."""
    codes = gesture.text.count(CODE_BEGINS) if isinstance(gesture, Write) else 0
    seconds = SLOW_CODE_S * codes + SLIP_S + SLOW_KEY_S * keys(gesture) + SLOW_SECRET_S * secrets_in(gesture)
    waits = isinstance(gesture, Write) and (gesture.overwrite or moves_on(gesture))
    return seconds + (SLOW_OVERWRITE_S if waits else 0.0) + (SLOW_FIELD_S if field else 0.0)


def typed_until(error: BaseException, gesture: Gesture, frame: Frame) -> Sequence[Typed]:
    """Return the places where secrets may be visible after an interrupted gesture: the whole screen if unknown."""
    reported: Sequence[Typed] | None = getattr(error, "typed", None)
    if reported is not None:
        return reported
    if not secrets_in(gesture):
        return ()
    whole = Box.whole(frame.size)
    return (Typed(whole, whole, before=frame.rgb.translate(_INVERTED), after=frame.rgb),)
