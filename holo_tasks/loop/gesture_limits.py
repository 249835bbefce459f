"""How long the hands may take for a gesture, and where the secrets in it show once it was cut short."""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box
from holo_tasks.core.gestures import Gesture, Typed, Write, keys
from holo_tasks.core.secret import CODE_BEGINS, PLACEHOLDER
from holo_tasks.core.totp import LONGEST_S

SLIP_S, SLOW_KEY_S = 10.0, 0.1
"""How long the hands may take for an action, and for each key of it in a program that is slow to read its keys."""
SLOW_SECRET_S, SLOW_FIELD_S = 12.0, 60.0
"""And for each secret, on a screen that never rests: one looks before and after, and in between if it has a field."""
SLOW_CODE_S = 2 * LONGEST_S + 5.0
"""And for each one-time code, which may be waited for: those of others who type them, too."""
_INVERTED = bytes(range(255, -1, -1))


def secrets_in(gesture: Gesture) -> int:
    """Count the secrets that a gesture types."""
    return len(PLACEHOLDER.findall(gesture.text)) if isinstance(gesture, Write) else 0


def seconds_for(gesture: Gesture, field: Box | None) -> float:
    """Return how long the hands may take; ``field`` is the one that a secret in it is bound to."""
    codes = gesture.text.count(CODE_BEGINS) if isinstance(gesture, Write) else 0
    seconds = SLOW_CODE_S * codes + SLIP_S + SLOW_KEY_S * keys(gesture) + SLOW_SECRET_S * secrets_in(gesture)
    return seconds + (SLOW_FIELD_S if field else 0.0)


def typed_until(error: BaseException, gesture: Gesture, frame: Frame) -> Sequence[Typed]:
    """Return where secrets show after a gesture was cut short: all of the screen, if nobody can say."""
    told: Sequence[Typed] | None = getattr(error, "typed", None)
    if told is not None:
        return told
    if not secrets_in(gesture):
        return ()
    whole = Box.whole(frame.size)
    return (Typed(whole, whole, before=frame.rgb.translate(_INVERTED), after=frame.rgb),)
