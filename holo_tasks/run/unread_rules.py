"""Rules that go by what is written on the screen, where nothing here can read it."""

from __future__ import annotations

from holo_tasks.safety.policy import Rules
from holo_tasks.vision.control_text import can_read


def unread(rules: Rules) -> str:
    """Say what becomes of rules that go by what is written on the screen, where nothing can read it; else nothing."""
    if can_read() or not any(rule.text for rule in rules.confirm):
        return ""
    return (
        "The rules ask for a person's yes by what is written on the screen (confirm: text), and nothing here can read "
        "it: every action that may press something needs a person's yes. pip install 'prefect-holo[rehearsal]' lets it "
        "be read; a rule can also name kinds or programs instead of a text."
    )
