"""Check the conditions of a playbook on a screen, and put them into words.

`rules`, `misfit` and the other modules that follow a playbook use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holo_tasks.core.texts.failure_words import expects_failure
from holo_tasks.scripts.element_search import shows_cut, shows_element, words_for
from holo_tasks.scripts.steps_and_targets import AtState, Condition, FewPlaces, Gone, ShownWindow
from holo_tasks.scripts.values import PLACEHOLDER, Value, fill, filled_in, fits_title, label_of
from holo_tasks.vision.screen_text import FilledLabel, Sight


def is_visible(wanted: Condition, values: Mapping[str, Value], sight: Sight) -> bool:
    """Return whether a condition holds.

    A condition on a window or a state also holds if the windows or the state of the screen are unknown.
    """
    match wanted:
        case str():
            value = fill(wanted, values) if PLACEHOLDER.fullmatch(wanted) else ""
            return sight.has(label_of(wanted, values)) or (bool(value) and shows_cut(value, sight))
        case ShownWindow(window=title):
            return sight.windows is None or any(fits_title(title, values, shown) for shown in sight.windows)
        case AtState(state=name):
            return sight.state is None or sight.state == name
        case Gone(gone=inner):
            return not is_visible(inner, values, sight)
        case FewPlaces(shown=text, at_most=count):
            return is_visible(f"*{text}*", values, sight) and sight.count(fill(text, values)) <= count
    filled = wanted.model_copy(update=filled_in(wanted, values))
    return shows_element(filled, filled.text, sight)


def has_come(wanted: Condition, values: Mapping[str, Value], sight: Sight) -> bool:
    """Return whether a condition that must hold does so.

    A ``*`` in a text with words of its own, such as ``Saved*`` or ``Job {number}*``, matches no message of a failure,
    unless the text itself may be one.
    """
    if not isinstance(wanted, str) or "*" not in wanted or not has_words(wanted):
        return is_visible(wanted, values, sight)
    label = label_of(wanted, values)
    effect = FilledLabel(label, label.values if isinstance(label, FilledLabel) else ())
    effect.is_effect = not expects_failure(label)
    return sight.has(effect)


def has_words(text: str) -> bool:
    """Return whether a text has words of its own, besides the values that are filled in."""
    return any(map(str.isalpha, PLACEHOLDER.sub("", text)))


def is_known(wanted: Condition, sight: Sight) -> bool:
    """Return whether a condition can be checked. States and windows may be unknown."""
    match wanted:
        case ShownWindow():
            return sight.windows is not None
        case AtState():
            return sight.state is not None
        case _:
            return True


def conditions_in_words(wanted: Sequence[Condition]) -> str:
    """Return the conditions as text, in the playbook's own words."""
    return ", ".join(map(_in_words, wanted))


def _in_words(wanted: Condition) -> str:
    match wanted:
        case str():
            return f"‘{wanted}’"
        case ShownWindow(window=title):
            return f"the window ‘{title}’"
        case AtState(state=name):
            return f"the state ‘{name}’"
        case Gone(gone=inner):
            return f"that {_in_words(inner)} is gone"
        case FewPlaces(shown=text, at_most=count):
            return f"‘{text}’ in at most {count} place{'s' * (count > 1)}, longer texts included"
        case _:
            return words_for(wanted)
