"""Withholds a second press on a button that has just sent typed texts, although the screen has changed.

`repeated_press` covers presses on an unchanged screen. A form that empties itself looks new, and a model may press
again what it has just pressed. Without new texts the second press sends an empty form or the same one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holo_tasks.core.input.gestures import Click, Gesture
from holo_tasks.core.prompts.tool_calls import AnyCall, ClickCall, WaitCall, WriteAtCall, WriteCall
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.verdicts import Verdict
from holo_tasks.core.texts.outside_text import named

NEAR = 12
"""Pixels between two presses on one button."""
MOST_TOLD = 60
"""Maximal number of characters of a name in a message."""
EFFECTS = re.compile(
    r"\b(?:save|store|submit|send|book|order|pay|add|create|insert|post|confirm|apply|delete|remove|register"
    r"|check in|check out|speichern|senden|absenden|buchen|bestellen|bezahlen|hinzufügen|anlegen|löschen"
    r"|enregistrer|envoyer|ajouter|supprimer|valider|guardar|enviar|añadir|eliminar|pagar)\b",
    re.IGNORECASE,
)
"""Words of buttons that do something each time they are pressed. Buttons such as *Next* are pressed repeatedly."""


@dataclass
class DoubledPress:
    """Compares each press with the last action. One object serves one sub-goal."""

    _pressed: Point | None = None
    """The point of the last action, if that was a press that sent typed texts, and the screen changed after it."""
    _typed: bool = False
    """Whether a text was typed since the last press with an effect."""
    _step: int = 0
    """The step of that press, or of the last wait after it."""
    _withheld: AnyCall | None = None

    def did(self, call: AnyCall, gesture: Gesture | None, verdict: Verdict | None, step: int) -> None:
        """Note an action of a step and its effect. A wait after a press changes nothing."""
        self._step = step
        if isinstance(call, WaitCall):
            return
        changed = verdict is not None and verdict.outcome in ("changed", "elsewhere")
        sends = changed and self._typed and _has_effect(call)
        self._pressed = gesture.at if sends and isinstance(gesture, Click) else None
        self._typed = isinstance(call, WriteCall | WriteAtCall) or (self._typed and not _has_effect(call))
        self._withheld = None

    def forget(self) -> None:
        """Forget the last press, because a person or a sequence has worked on the screen."""
        self._pressed, self._typed = None, False

    def withhold(self, call: AnyCall, gesture: Gesture | None, step: int) -> str:
        """Return why a press is withheld, for the model; an empty string if it may be made.

        A press is withheld once. If the model repeats the call, it is made. The model may also press again after
        another decision, such as an answer that was sent back.
        """
        if (
            self._pressed is None
            or step > self._step + 1
            or call == self._withheld
            or not isinstance(call, ClickCall)
            or not _has_effect(call)
        ):
            return ""
        if not isinstance(gesture, Click) or not Box.near(self._pressed, NEAR, NEAR).contains(gesture.at):
            return ""
        self._withheld = call
        return (
            f"Nothing was pressed: your last action was a press on {named(call.element, MOST_TOLD)}, and the screen "
            "has changed since. Nothing was typed after it. Look whether it has done what you want. To press it once "
            "more, repeat this call."
        )


def _has_effect(call: AnyCall) -> bool:
    return isinstance(call, ClickCall) and call.button == "left" and EFFECTS.search(call.element) is not None
