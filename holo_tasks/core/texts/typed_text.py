"""Compare a typed text with the text that its field holds afterwards.

A program may complete, correct, cut off or reformat a typed text. The comparison takes the field's text from before
and after the typing. It does not know where in the field the text was typed, so any place counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal, TypeAlias

from holo_tasks.core.input.gestures import Write
from holo_tasks.core.texts.outside_text import defused, is_placeholder
from holo_tasks.core.texts.same_value import (
    days_of,
    decimals_of,
    is_code,
    is_date,
    is_rounded,
    may_be_same_date,
    numbers_of,
    same_date,
    same_number,
    same_time,
    signs_of,
)
from holo_tasks.core.texts.visible_text import one_line

Kind: TypeAlias = Literal[
    "exact",
    "cleared",
    "formatted",
    "case",
    "reformatted",
    "completed",
    "cut_off",
    "lost",
    "corrected",
    "empty",
    "another",
    "unread",
]
RANK: tuple[Kind, ...] = (
    *("exact", "cleared", "formatted", "case", "reformatted", "completed", "cut_off", "lost", "corrected"),
    *("empty", "another", "unread"),
)
"""From the text that was typed to another one; of several ways to compare, the first of these counts."""
SILENT: frozenset[Kind] = frozenset({"exact", "cleared", "unread"})
SAME_VALUE: frozenset[Kind] = SILENT | {"formatted"}
"""A playbook or a script accepts these: the same text, number or date in another format, or no reading at all."""
LONGEST, MOST_SHOWN = 990, 60
INVALID = "marked as invalid"
LIKE = 0.6
"""Two texts are like one another from this ratio up, as a word and its correction are."""
LONG_NUMBER = 7
"""Digits of the shortest phone number. A mask may change the separators of a number with as many."""
FEWEST = 2
"""OCR overlooks or makes up a single character at times."""
CASED = frozenset("abdefghmnqrtABDEFGHMNQRT")
"""Letters that OCR does not take for their other case: in 248 texts of three families of fonts, it never did."""
OBJECT = "\ufffc"
_BULLETS = frozenset("•●*·⬤∙")
_CODE = re.compile(r"[^\W\d_]+[-/ ]\d+", re.ASCII)
"""Letters and a number with one separator. An amount and its currency have only a blank between them."""
_ARITHMETIC = re.compile(r"[\d\s.,()]+(?:[-+*/×÷^]\s*[\d\s.,()]+)+=?")
_ADDRESS = re.compile(
    r"\w[\w+.-]*://\S*|(?:about|data|file):\S+|localhost\S*|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[:/]\S*)?"
)
_OMITTED = re.compile(r"^(?:https?://)?(?:www\.)?|/$")
"""The parts of an address in small letters that a program may add or leave out."""
_NEGATIVE = re.compile(
    r"[()\[\]<>\u2010-\u2015\u2212\ufe63\uff08\uff09\uff0d]|(?<![a-z])(?:cr|dr|credit|debit)(?![a-z])"
)
"""The signs of a negative amount in place of a minus in ASCII, in small letters. They do not count as a unit."""
_MINUS = re.compile(r"(?<!\w)[-\u2010-\u2015\u2212\ufe63\uff0d]\s*[\d.,]")
_LOOK_ALIKE = str.maketrans("oliszbgq", "01152899")


@dataclass(frozen=True)
class TypedText:
    """The result of a comparison: ``held`` is the field's text now, ``before`` its text before the typing.

    ``before`` is empty if the typed text replaced it. ``field`` is the field's accessible name, ``by`` the source of
    the text: the accessibility tree or OCR. ``why`` is the reason why nothing was read. ``is_invalid`` is whether the
    program marks the field as invalid, as a page does with a number above its maximum.
    """

    kind: Kind
    typed: str = ""
    held: str = ""
    before: str = ""
    field: str = ""
    by: Literal["accessibility", "text", ""] = ""
    why: str = ""
    is_invalid: bool = False

    @property
    def differs(self) -> bool:
        """Whether the field was read, and holds another text than the typed one."""
        return self.kind not in SILENT

    @property
    def sentence(self) -> str:
        """The difference for a model, and whether the program marks the field as invalid; empty without either."""
        marked = f"The field is {INVALID}." if self.is_invalid else ""
        return " ".join(filter(None, (self._sentence("The field") if self.differs else "", marked)))

    @property
    def problem(self) -> str:
        """The error of a playbook or a script; empty if the field has the typed value and is not marked as invalid."""
        field = f"The field ‘{quoted(self.field)}’" if self.field else "The field"
        if self.kind in SAME_VALUE and not self.is_invalid:
            return ""
        if self.kind in SAME_VALUE:
            said = f"{field} is {INVALID} after ‘{quoted(self.typed)}’ was typed"
        else:
            said = self._sentence(field).removesuffix(".")
        return f"{said}. If that is right, give `shows` with the text that the field should hold."

    def _sentence(self, field: str) -> str:
        typed, held = excerpts(self.typed, self.held)
        if not self.held:
            return f"{field} is empty and did not take ‘{typed}’."
        if self.held == self.before:
            return f"{field} holds ‘{held}’ as before and did not take ‘{typed}’."
        if self.before:
            return f"{field} holds ‘{held}’ after ‘{typed}’ was typed."
        return f"{field} holds ‘{held}’, not ‘{typed}’."


def compare(write: Write, before: str, held: str, *, in_cell: bool = False, others_changed: bool = False) -> Kind:
    """Return the relation of a field's text to the typed text.

    ``in_cell`` is for a cell of a sheet, which rounds numbers. ``others_changed`` says that other fields of the window
    changed as well, for example after Enter in a form that shows the next record.
    """
    entered = write.press_enter or "\n" in write.text
    if write.overwrite and OBJECT in before:  # the old text is gone, so it needs no comparison
        before = ""
    if is_unreadable(held) or is_unreadable(before):
        return "unread"
    kinds = [
        _kind(typed, "" if write.overwrite else plain(before), plain(held), in_cell) for typed in _forms(write.text)
    ]
    found: Kind = min(kinds, key=RANK.index, default="unread")
    if found == "reformatted" and _has_own_unit(plain(write.text), plain(before), plain(held)):
        found = "formatted"
    if found in ("exact", "formatted", "unread"):
        return found
    if entered and not plain(held):
        return "cleared"
    if _is_computed(plain(write.text), plain(held), entered):
        return "unread"
    if entered and found == "another" and others_changed:
        return "unread"
    return found


def compare_choice(write: Write, before: str, held: str) -> Kind:
    """Return the relation of the chosen entry of a list to the typed text. The first letters of an entry choose it.

    A list without ``Net 3`` chooses ``Net 30``. One letter several times goes from entry to entry.
    """
    forms = [each.casefold() for each in _forms(write.text)]
    if is_unreadable(held) or is_unreadable(before) or any(len(set(each)) == 1 for each in forms):
        return "unread"
    entry = plain(held).casefold()
    if entry in forms:
        return "exact"
    if any(entry.startswith(each) for each in forms):
        return "completed"
    return "lost" if held == before else "another"


def changed_later(typed: str, held: str, *, before: str = "", in_cell: bool = False) -> bool:
    """Return whether a field that took a text exactly holds another value after the keyboard left it.

    A program may write the value in its own form then, give an expense its sign, or add the meaning of a code, as in
    ``P-4 (Adler Ltd)``. It may also put back the text that the field held ``before``.
    """
    if _is_same_address(plain(typed).casefold(), plain(held).casefold()):
        return False
    kind = compare(Write(text=typed, overwrite=True), before, held, in_cell=in_cell)
    if is_date(typed) and is_date(held) and (days_of(typed) or days_of(held)):
        return not may_be_same_date(typed, held)
    same = kind in SAME_VALUE | {"case", "completed"} or _is_explained(plain(typed), plain(held))
    if plain(held) == plain(before) and not same:
        return True
    if numbers_of(typed):
        sizes = {abs(number) for number in numbers_of(held)}
        is_size = kind in SAME_VALUE or not (is_code(typed) or sizes.isdisjoint(map(abs, numbers_of(typed))))
        return not is_size if sizes else kind in ("cut_off", "lost")
    has_digits = any(map(str.isdigit, typed))
    return kind in ("cut_off", "lost") or (kind in ("completed", "corrected") and not has_digits)


def _is_explained(typed: str, held: str) -> bool:
    """Say whether a field shows a text that begins with a letter, such as a code, and its meaning."""
    return typed[:1].isalpha() and held.startswith(f"{typed} ") and not _NEGATIVE.search(held.casefold())


def _is_same_address(typed: str, held: str) -> bool:
    """Say whether two texts in small letters are one address of the web, with or without ``https://`` and ``www.``."""
    are_addresses = all(_ADDRESS.fullmatch(each) for each in (typed, held))
    return are_addresses and _OMITTED.sub("", typed) == _OMITTED.sub("", held)


def compare_seen(typed: str, read: str) -> Kind:
    """Return the relation of a text that OCR read in a field to the typed text.

    OCR takes letters for one another, so a difference counts only if at least two characters were added or are missing,
    and all others are the same, or if a letter is in the other case and looks different there.
    """
    one, other = _as_seen(typed), _as_seen(read)
    if one == other:
        if _is_bare_number(typed) and _is_bare_number(read) and not same_number(typed, read):
            return "unread"  # OCR may have overlooked a decimal point, and the program may have dropped it
        pairs = zip(_letters(plain(typed)), _letters(plain(read)), strict=False)
        return "case" if any(a in CASED and a.swapcase() == b for a, b in pairs) else "exact"
    if not one or not other or abs(len(one) - len(other)) < FEWEST:
        return "unread"
    if one in other:
        return "completed"
    if one.startswith(other):
        return "cut_off"
    return "lost" if _is_subsequence(other, one) else "unread"


def _is_bare_number(text: str) -> bool:
    return bool(numbers_of(text)) and not any(map(str.isalpha, text))


def matches_shown(pattern: str, held: str) -> bool:
    """Say whether a field holds the text that a playbook or a script expects; ``*`` matches any text."""
    parts = (re.escape(plain(part)) for part in pattern.split("*"))
    return re.fullmatch(r"\s*" + ".*".join(parts) + r"\s*", plain(held), re.DOTALL) is not None


def plain(text: str) -> str:
    """Return a text in composed letters, on one line, without characters that do not show."""
    return one_line(unicodedata.normalize("NFC", text), 10 * LONGEST)


def is_unreadable(text: str) -> bool:
    """Say whether a text from the accessibility tree may differ from the field's contents."""
    signs = set(text) - {" "}
    hidden = len(signs) == 1 and (signs <= _BULLETS or (len(text) > 2 and signs == {"#"}))
    return len(text) > LONGEST or OBJECT in text or is_placeholder(text) or hidden


def quoted(text: str) -> str:
    """Return a text from a program in a form for use in a sentence."""
    return defused(one_line(text, MOST_SHOWN))


def excerpts(typed: str, held: str) -> tuple[str, str]:
    """Return the typed text and the field's text, both short, from a little before their first difference on."""
    one, other = plain(typed), plain(held)
    if max(len(one), len(other)) <= MOST_SHOWN:
        return quoted(one), quoted(other)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    start = max(0, same - MOST_SHOWN // 2)
    lead = "…" if start else ""
    return lead + quoted(one[start:]), lead + quoted(other[start:])


def _forms(text: str) -> Iterator[str]:
    """Yield the parts of a text that one field may have received: the whole text, or the part before Tab or Enter."""
    for form in dict.fromkeys((text, text.partition("\t")[0], re.split(r"[\t\r\n]", text, maxsplit=1)[0])):
        if typed := plain(form):
            yield typed


def _kind(typed: str, before: str, held: str, in_cell: bool) -> Kind:
    if held == typed or (before and _is_inserted(_solid(typed), _solid(before), _solid(held))):
        return "exact"
    if not held:
        return "empty"
    if held == before:
        return "lost"
    texts = [held, *([_added_text(before, held)] if before else [])]
    return min((_relation(typed, text, in_cell) for text in texts), key=RANK.index)


def _relation(typed: str, text: str, in_cell: bool) -> Kind:
    one, other = typed.casefold(), text.casefold()
    if typed == text:
        return "exact"
    if one == other:
        return "case"
    if same_number(typed, text):
        return "formatted" if signs_of(text) == signs_of(typed) else "reformatted"
    if any(same(typed, text) for same in (same_date, same_time, _is_masked, *([is_rounded] if in_cell else ()))):
        return "formatted"
    if one in other:
        return "completed"
    if text and one.startswith(other):
        return "cut_off"
    if _is_subsequence(text, typed):
        return "lost"
    if SequenceMatcher(None, one, other, autojunk=False).ratio() >= LIKE:
        return "corrected"
    return "another"


def _has_own_unit(typed: str, before: str, held: str) -> bool:
    """Say whether a field only added the unit that it had before to a number that was typed without any."""
    same = signs_of(held) == signs_of(before)
    return same and not signs_of(typed) and not _NEGATIVE.search(held.casefold())


def _is_inserted(typed: str, before: str, held: str) -> bool:
    """Say whether a text was inserted into another one, or replaced a selected part."""
    at = held.find(typed)
    while at >= 0:
        rest = held[at + len(typed) :]
        if before.startswith(held[:at]) and before.endswith(rest) and at + len(rest) <= len(before):
            return True
        at = held.find(typed, at + 1)
    return False


def _added_text(before: str, held: str) -> str:
    """Return the part of a field's text that was not in it before."""
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, held, strict=False)))
    ends = zip(reversed(before[start:]), reversed(held[start:]), strict=False)
    return held[start : len(held) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends))]


def _is_masked(typed: str, text: str) -> bool:
    """Say whether a mask has put separators into a phone number or a code as ``ABC-12``; amounts do not count.

    A typed number with decimals or a minus is an amount. A mask may put other separators in the place of those of a
    long number, as in ``(555) 123-4567`` for ``555 123 4567``.
    """
    if not any(sign.isdigit() for sign in typed) or _letters(text) != _letters(typed):
        return False
    if numbers_of(typed) and (any(decimals_of(typed)) or _MINUS.search(typed)):
        return False
    if numbers_of(typed) and numbers_of(text) and not _CODE.fullmatch(text):
        return False
    if len(text) > len(typed) and _is_subsequence(typed, text):
        return True
    return _letters(typed).isdecimal() and len(_letters(typed)) >= LONG_NUMBER and _breaks(typed) <= _breaks(text)


def _breaks(text: str) -> set[int]:
    """Return how many letters and digits stand before each of the separators of a text."""
    return {len(_letters(text[:at])) for at, sign in enumerate(text) if not sign.isalnum()}


def _is_computed(typed: str, held: str, entered: bool) -> bool:
    """Say whether a program shows the result of a typed text in its place: of a formula, a sum or an address."""
    if typed.startswith("="):
        return True
    if not entered:
        return False
    address = _ADDRESS.fullmatch(held.casefold()) is not None
    return address or (_ARITHMETIC.fullmatch(typed) is not None and bool(numbers_of(held)))


def _is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(sign in rest for sign in short)


def _letters(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum())


def _solid(text: str) -> str:
    return "".join(text.split())


def _as_seen(text: str) -> str:
    """Return the letters and digits of a text, without the differences that OCR does not see."""
    return _letters(plain(text)).casefold().translate(_LOOK_ALIKE)
