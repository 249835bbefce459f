"""Explain how rules about text on the screen behave when OCR is not installed.

`unread_text_warning` is called by `agent.open_agent` for a warning.
"""

from __future__ import annotations

from holo_tasks.safety.policy import Rules
from holo_tasks.vision.control_text import can_read


def unread_text_warning(rules: Rules) -> str:
    """Return a warning if a confirm rule needs screen text and OCR is not installed; else an empty string."""
    if can_read() or not any(rule.text for rule in rules.confirm):
        return ""
    return (
        "The rules ask for a person's yes by texts on the screen (confirm: text), and no OCR is installed to read "
        "them. Every action that may press something therefore needs a person's yes. To have the texts read, run pip "
        "install 'prefect-holo[rehearsal]'. A rule can also name kinds or programs instead of a text."
    )
