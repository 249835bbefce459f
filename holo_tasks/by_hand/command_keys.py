"""Tell a typed command of one character from the text that a person typed after it.

A terminal program takes `g` as a command and then asks for a text. In a field, one character and a text are one text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from holo_tasks.by_hand.step_collector import HandStep, RecordedScreen
from holo_tasks.by_hand.typed_secrets import read
from holo_tasks.core.input.gestures import Hotkey, Write
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.screen_text import plain


def without_pauses(
    steps: Sequence[HandStep], last: RecordedScreen, reader: Reader, values: Collection[str]
) -> list[HandStep]:
    """Return the steps with each lone character either joined to the text after it, or as a key of its own.

    It is a key if the text is one of the user's ``values``, or if the screen shows the text without the character.
    """
    found: list[HandStep] = []
    for place, step in enumerate(steps):
        first = _lone_character(found[-1]) if found else ""
        if not (first and isinstance(step.gesture, Write)):
            found.append(step)
            continue
        after = step.typed or (steps[place + 1].before if place + 1 < len(steps) else last)
        if _is_command(first, step.gesture.text, after, reader, values):
            if first.isalnum() and not first.isupper():  # other characters may need several keys
                found[-1] = replace(found[-1], gesture=Hotkey((first,)))
            found.append(step)
        else:
            whole = replace(step.gesture, text=first + step.gesture.text)
            found[-1] = replace(found[-1], gesture=whole, sent=step.sent)
    return found


def _lone_character(step: HandStep) -> str:
    """Return the character of a step that typed only one; empty for any other step."""
    gesture = step.gesture
    return gesture.text if isinstance(gesture, Write) and len(gesture.text) == 1 and not gesture.press_enter else ""


def _is_command(first: str, text: str, after: RecordedScreen, reader: Reader, values: Collection[str]) -> bool:
    """Return whether a character is a command, and not the beginning of the text."""
    if first + text in values:
        return False
    if text in values:
        return True
    lines = [plain(line.text) for line in read(after, reader).lines]
    shown, joined = plain(text), plain(first + text)
    return bool(shown) and any(shown in line for line in lines) and not any(joined in line for line in lines)
