"""Fixed texts for the decider of the next step."""

from __future__ import annotations

from holo_tasks.loop.ask_model.take_picture import NewestScreen

TAKE_STOCK = (
    "Take stock: your last actions did not get you further. Say what you see, what you expected and why it did not "
    "happen, then do something else. If the goal cannot be reached, answer so."
)
WITHHELD = (
    "A window is hidden from you, because a secret was typed into it and it may show the secret at an unknown place. "
    "It is shown again when the field of the secret is on the screen as before, was seen cleared, or when the window "
    "closes. Go back to that page or, if nothing is lost by it, close the window. If you cannot, answer so. Say that "
    "with OCR (the extra prefect-holo[redaction]) only the secret itself would be hidden."
)
DROPPED = "connection to the remote screen"
RECONNECTED = (
    "The connection to this screen dropped and was restored. Your last action may have been done, done in part, or "
    "not done. Look at the screen before you repeat anything."
)


def result_text(verdict: str, before: NewestScreen, after: NewestScreen) -> str:
    """Return the text after an action: the verdict, and notes about the new screen."""
    reported = [verdict]
    if after.frame.reconnected > before.frame.reconnected:
        reported.append(RECONNECTED)
    if after.frame.activity.waiting_for:
        reported.append(after.frame.activity.sentence)
    if after.withheld:
        reported.append(WITHHELD)
    return " ".join(reported)
