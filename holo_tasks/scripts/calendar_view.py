"""Find the month that a calendar shows, and its controls for the next and the previous month.

`into_view` turns the calendar with them to the month of a step's date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holo_tasks.core.elements.calendar_days import MOST_AROUND, day_of
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.texts.failure_words import without_accents
from holo_tasks.scripts.element_search import months_above
from holo_tasks.scripts.pager import PRESSABLE, is_usable
from holo_tasks.scripts.value_formats import days_of_month, month_number
from holo_tasks.vision.screen_text import Sight

FIRST = ("1", "01")
"""The names of the first day of a month."""
MOST_MONTHS = 24
"""The most months that a calendar is turned."""
MONTH = frozenset({"month", "monat", "mois", "mes", "mese", "maand", "miesiac"})
NEXT = frozenset(
    {
        *("next", "nachster", "nachsten", "folgender", "suivant", "prochain", "siguiente", "proximo", "seguinte"),
        *("successivo", "prossimo", "seguente", "volgende", "nastepny"),
    }
)
PREVIOUS = frozenset(
    {
        *("previous", "prev", "voriger", "vorigen", "vorheriger", "vorherigen", "precedent", "anterior", "precedente"),
        *("vorige", "poprzedni"),
    }
)
FILLERS = frozenset({"go", "to", "the", "show", "zum", "le", "el", "il", "o", "naar"})
KEYS = re.compile(r"\(.*\)$")
"""Keys at the end of a name, as in *Next month (PageDown)*."""


@dataclass(frozen=True)
class ShownMonth:
    """The month of a calendar, as the number of months since the year 0, and the element of its first day."""

    number: int
    first: Element


def shown_month(role: str | None, sight: Sight) -> ShownMonth | None:
    """Return the month of the only calendar on the screen whose days have this role.

    Returns ``None`` unless the picture shows one month above the days, and the calendar has as many days.
    """
    tree = sight.elements
    if tree is None:
        return None
    days = ((each, day_of(tree, each)) for each in tree.find(role) if each.name in FIRST)
    firsts = [(each, day) for each, day in days if day is not None]
    if len(firsts) != 1:
        return None
    ((first, day),) = firsts
    shown = " ".join(part for parts in months_above(day, sight) for part in parts)
    number = month_number(shown)
    return ShownMonth(number, first) if number is not None and days_of_month(shown) == day.count else None


def month_control(first: Element, forward: bool, tree: ElementTree) -> Element | None:
    """Return the control that turns a calendar to the next or the previous month, if it is one beyond doubt.

    Its name says so, and the innermost container of the days with such a control has no other one.
    """
    for around in tree.ancestors(first)[:MOST_AROUND]:
        found = [each for each in tree.below(around) if each.role in PRESSABLE and _leads(each.name, forward)]
        if found:
            return found[0] if len(found) == 1 and found[0].on_screen and is_usable(found[0]) else None
    return None


def _leads(name: str, forward: bool) -> bool:
    words = {*re.findall(r"[^\W\d_]+", KEYS.sub("", without_accents(name)))} - FILLERS
    return len(words) == 2 and len(words & MONTH) == 1 and len(words & (NEXT if forward else PREVIOUS)) == 1
