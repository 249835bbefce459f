"""Actions with an effect are not done twice, whatever a model makes of a screen that shows nothing of it.

A button that seems to do nothing may be slow, or deaf, or on a page that looks like the one before. Only a look at what
came of the first press tells, so the second one waits for that look.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from holo_tasks.core.chords import chords_in
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.gestures import Click, Gesture, HoldAndTap, Hotkey, Write
from holo_tasks.core.guide import Guide
from holo_tasks.core.keynames import MODIFIERS, RETURN, keysym
from holo_tasks.core.permit import ReadsTargets
from holo_tasks.core.repeating import fits
from holo_tasks.core.scaling import to_gesture
from holo_tasks.core.step import Step
from holo_tasks.core.walk import PATIENCE_S, Walk

SPACE, ALT = keysym("space"), MODIFIERS["alt"]
ENTER = "Enter"
"""How the key that submits a form is declared."""
UNREAD = "a button that could not be read"
"""Any of them: once it is pressed, all of them may have been."""


@dataclass
class Once:
    """The buttons of a sub-goal that have an effect, by what is written on them, and which of them were pressed.

    ``not_done`` looks whether an effect is there: it returns true if it is certain that it is not, false if nobody can
    say, and raises where the effect was found.
    """

    labels: tuple[str, ...]
    not_done: Callable[[], Awaitable[bool]]
    pressed: set[str] = field(default_factory=set)

    async def label(self, walk: Walk, step: Step) -> str:
        """Return which of the buttons a step would press, empty if none."""
        seen, reader = walk.seen, walk.doors.reader
        gesture = to_gesture(step.tool_call, seen.shot) if seen is not None else None
        if gesture is None or seen is None:
            return ""
        if ENTER in self.labels and _enters(gesture):
            return ENTER
        if self._presses_some(gesture) and not await walk.scene(seen.frame).in_field(None):
            return self._any
        at = gesture.at if isinstance(gesture, Click | Write) else None
        if at is None:
            return ""
        text, unknown = "", ""
        if reader is not None:
            try:
                reading = reader.on_target if isinstance(reader, ReadsTargets) else reader
                text = await reading(seen.frame, at)
            except Exception:
                unknown = self._any
        if not text.strip():  # then what the model calls it has to do
            named = str(getattr(step.tool_call, "element", ""))
            return next((label for label in self.labels if fits(f"*{label}*", named)), unknown)
        return next((label for label in self.labels if fits(label, text)), "")

    @property
    def _any(self) -> str:
        """What a press counts as of which nobody can say on what."""
        buttons = [label for label in self.labels if label != ENTER]
        return buttons[0] if len(buttons) == 1 else UNREAD if buttons else ""

    def _presses_some(self, gesture: Gesture) -> bool:
        """Say whether keys press a button without saying which: Space does, and Alt with a letter of a button's."""
        if isinstance(gesture, Write):
            return gesture.at is None and " " in gesture.text and len(gesture.text.strip()) <= 1
        letters = {
            keysym(letter) for label in self.labels if label != ENTER for letter in label.casefold() if letter.isalnum()
        }
        return any(SPACE in chord.keys or (ALT in chord.keys and chord.keys & letters) for chord in chords_in(gesture))

    def was_pressed(self, label: str) -> bool:
        """Say whether a button may have been pressed before."""
        if label == UNREAD:
            return bool(self.pressed - {ENTER})
        return label in self.pressed or (label not in ("", ENTER) and UNREAD in self.pressed)

    def too_often(self, walk: Walk, step: Step) -> bool:
        """Say whether a step alone would press a button more than once, as a double click does."""
        gesture = to_gesture(step.tool_call, walk.seen.shot) if walk.seen is not None else None
        match gesture:
            case Click(count=count):
                return count > 1
            case Hotkey(repeat=repeat):
                return repeat > 1
            case HoldAndTap(tap=tap):
                return sum(keysym(key) in (RETURN, SPACE) for key in tap) > 1
            case Write(text, press_enter=enter):
                entered = text.count("\n") + enter if ENTER in self.labels else 0
                return max(entered, text.count(" ") if self._presses_some(gesture) else 0) > 1
            case _:
                return False

    async def again(self, walk: Walk, label: str, guide: Guide | None) -> str:
        """Say what is to be made of a second press, which is not done: it may be in vain, or one too many.

        Waits for a state that the work may end in, then looks for the effect. Raises `GaveUp` if nobody can say.
        """
        if guide is None or not guide.after:
            await walk.pause(PATIENCE_S)  # nothing tells when a slow effect would be there
        if guide is not None and await guide.arrived(walk):
            return f"‘{label}’ was pressed before, and it worked: the program is at ‘{guide.here}’. Answer now."
        if not await self.not_done():
            raise GaveUp(
                f"‘{label}’ was pressed, and nobody knows whether that came about; it was not pressed again.",
                layer=guide.layer if guide is not None else "model",
            )
        self.pressed = self.pressed & {ENTER} if UNREAD in (label, *self.pressed) else self.pressed - {label}
        await walk.look()
        if guide is not None:
            await guide.clear(walk)
        return f"‘{label}’ was pressed before and had no effect: that was looked up. Begin again."

    def ended(self, guide: Guide | None) -> bool:
        """Say whether the effect is there to be seen, so that nothing but the answer is left."""
        return bool(self.pressed) and guide is not None and guide.here in guide.after


def _enters(gesture: Gesture) -> bool:
    match gesture:
        case Write(text, press_enter=enter):
            return enter or "\n" in text
        case Hotkey(keys):
            return any(keysym(key) == RETURN for key in keys)
        case HoldAndTap(tap=tap):
            return any(keysym(key) == RETURN for key in tap)
        case _:
            return False
