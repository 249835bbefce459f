"""Withholds a second press on a button that has just sent typed texts, although the screen has changed.

`repeated_press` covers presses on an unchanged screen. A form that empties itself looks new, and a model may press the
same button again. Without new texts the second press sends an empty form or the same one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holo_tasks.core.elements.target_words import differ_in_words, mentions_field
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
STEPS = re.compile(r"\b(?:one more|plus|arrow|stepper|pfeil|flèche|flecha)\b|\(\+\)", re.IGNORECASE)
"""Words of controls that are pressed repeatedly, whatever else their names say."""
CHOOSERS = re.compile(
    r"\b(?:list|drop-?down|combo ?box|cell|picker|calendar|liste|zelle|kalender|cellule|calendrier|lista|celda)\b",
    re.IGNORECASE,
)
"""Words of controls other than fields in which a press only chooses something."""
BUTTON = re.compile(r"\b(?:button|schaltfläche|knopf|bouton|botón)\b", re.IGNORECASE)
PLACE = re.compile(
    r",|\b(?:in|at|on|of|below|under|above|beside|next to|(?:left|right) of|unter|neben|über)\b", re.IGNORECASE
)
"""The words before this name the control, and those after it its place."""


@dataclass
class DoubledPress:
    """Compares each press with the last action. One object serves one sub-goal."""

    _pressed: Point | None = None
    """The point of the last action, if that was a press that sent typed texts, and the screen changed after it."""
    _words: str = ""
    """The model's words for it."""
    _typed: bool = False
    """Whether a text was typed since the last press with an effect."""
    _step: int = 0
    """The step of the last action or wait."""

    def did(self, call: AnyCall, gesture: Gesture | None, verdict: Verdict | None, step: int) -> None:
        """Note an action of a step and its effect. A wait after a press changes nothing."""
        self._step = step
        if isinstance(call, WaitCall):
            return
        changed = verdict is not None and verdict.outcome in ("changed", "elsewhere")
        sends = changed and self._typed and _has_effect(call)
        self._pressed = gesture.at if sends and isinstance(gesture, Click) else None
        self._words = call.element if isinstance(call, ClickCall) else ""
        self._typed = isinstance(call, WriteCall | WriteAtCall) or (self._typed and not _has_effect(call))

    def forget(self) -> None:
        """Forget the last press, because a person or a sequence has worked on the screen."""
        self._pressed, self._typed = None, False

    def withhold(self, call: AnyCall, gesture: Gesture | None, step: int) -> str:
        """Return why a press is withheld, for the model; an empty string if it may be made.

        The model may press again after another decision, such as an answer that was sent back.
        """
        if (
            self._pressed is None
            or step > self._step + 1
            or not isinstance(call, ClickCall)
            or not _has_effect(call)
            or differ_in_words(self._words, call.element)
        ):
            return ""
        if not isinstance(gesture, Click) or not Box.near(self._pressed, NEAR, NEAR).contains(gesture.at):
            return ""
        return (
            f"Nothing was pressed: your last action was a press on {named(self._words, MOST_TOLD)}, and the screen "
            "has changed since. Nothing was typed after it. Look whether it has done what you want. To press it once "
            "more, repeat this call."
        )


def _has_effect(call: AnyCall) -> bool:
    """Return whether a call presses a button that does something each time, by the model's words."""
    if not isinstance(call, ClickCall) or call.button != "left" or EFFECTS.search(call.element) is None:
        return False
    name = PLACE.split(call.element)[0]
    words = name if EFFECTS.search(name) else call.element
    chooses = mentions_field(words) or CHOOSERS.search(words) is not None
    return STEPS.search(words) is None and (not chooses or BUTTON.search(words) is not None)
