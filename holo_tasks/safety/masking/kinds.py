"""Find private text such as e-mail addresses and account numbers in OCR text, by format and checksum.

`find` is the main function. OCR confuses letters with digits, such as O with 0. Numbers are therefore searched in the
original OCR text, and in variants with such letters replaced by digits. A number with the right format but a wrong
checksum may have been misread. It is returned with ``sure`` false, so that the caller can read it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holo_tasks.safety.masking import checks

_DIGITS_FOR = str.maketrans("OoQDlI|iSsBZzGgqT", "00001111558226997")
"""Letters and the digits they are mistaken for. Each maps to one character, so that positions stay the same."""
_LETTERS = str.maketrans("0158|l", "OISBII")
_BEFORE, _AFTER = r"(?<![A-Z0-9])", r"(?![A-Z0-9])"
"""Boundaries of a number. Lowercase letters may touch it, because OCR loses spaces."""
_GAP = r"[ .\-/_·]{0,2}"


@dataclass(frozen=True)
class PrivatePart:
    """A private part of a text: its kind, start and end (exclusive).

    If ``sure`` is false, the part has the format of its kind, but a wrong checksum.
    """

    kind: str
    start: int
    end: int
    sure: bool = True


Check = Callable[[str], bool]


@dataclass(frozen=True)
class _Number:
    """A kind of number: a pattern for its format, and a check of its letters and digits."""

    pattern: re.Pattern[str]
    check: Check
    checked: bool = True
    """Whether a failed check may mean a misread number. If false, only numbers that pass the check are found."""

    def find(self, kind: str, text: str) -> Iterator[PrivatePart]:
        for match in self.pattern.finditer(text):
            good = self.check(re.sub(r"[^A-Za-z0-9]", "", match.group()).upper())
            if good or self.checked:
                yield PrivatePart(kind, *match.span(), sure=good)


def _digits(*groups: int, ends: str = "") -> str:
    """Return a pattern for groups of digits with up to two separators between groups."""
    return _BEFORE + _GAP.join(f"[0-9]{{{group}}}" for group in groups) + ends + _AFTER


_NUMBERS = {
    "us_ssn": _Number(
        re.compile(_BEFORE + r"[0-9]{3}[ \-–]{1,2}[0-9]{2}[ \-–]{1,2}[0-9]{4}" + _AFTER), checks.is_us_ssn, False
    ),
    "de_tax_id": _Number(re.compile(_digits(2, 3, 3, 3)), checks.is_de_tax_id),
    "fr_nir": _Number(
        re.compile(
            _BEFORE + _GAP.join((r"[12]", r"\d\d", r"\d\d", r"(?:\d\d|2[AB])", r"\d{3}", r"\d{3}", r"\d\d")) + _AFTER
        ),
        checks.is_fr_nir,
    ),
    "es_dni": _Number(re.compile(_BEFORE + r"[XYZ0-9][ \-.]?[0-9]{7}[ \-.]?[A-Z]" + _AFTER), checks.is_es_dni),
}
_NINO = re.compile(
    _BEFORE
    + r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    + _GAP
    + _GAP.join([r"[0-9]{2}"] * 3)
    + _GAP
    + r"[A-D]"
    + _AFTER
)
_IBAN = re.compile(_BEFORE + r"[A-Z]{2}[ ]?[0-9OIlSBZ]{2}(?:[ \-.]{0,2}[A-Za-z0-9|]){11,30}" + _AFTER)
_RUN = re.compile(_BEFORE + r"\d+(?:[ \-.]{1,2}\d+)*" + _AFTER)
_CARD_GROUPS = {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 1), (6, 13)}
_EMAIL = re.compile(
    r"[\w.+%\-]+(?:@|©)[\w.,\-]*\w|[\w.+%\-]+ ?(?:@|©|\(at\)|\[at\]) ?[\w\-]+(?: ?[.,] ?[\w\-]+)+", re.IGNORECASE
)
_PHONES = tuple(
    re.compile(r"(?<![A-Z0-9.,])(?<!\d[ \-/])" + form + r"(?![A-Z0-9]|[.,]\d|[ \-/]\d)")
    for form in (
        r"(?:\+|00)[1-9]\d{0,2}[ .\-/]{0,2}(?:\(\d{1,5}\))?(?:[ .\-/]{0,2}\d){6,13}",
        r"\(\d{2,5}\)[ .\-/]{0,2}\d{2,4}(?:[ .\-/]{0,2}\d){3,8}",
        r"0\d{1,5}[ \-/]{1,3}\d{2,8}(?:[ \-/]{0,2}\d){2,8}",
        r"[2-9]\d{2}[ .\-][2-9]\d{2}[ .\-]\d{4}",
    )
)
_DATES = re.compile(r"\d{1,4}([.\-/])\d{1,2}\1\d{1,4}")


def _cards(text: str) -> Iterator[PrivatePart]:
    """Yield card numbers in runs of digits.

    A card number is a run of a valid length, or a part of a longer run that is grouped as on a card.
    """
    for run in _RUN.finditer(text):
        groups = list(re.finditer(r"\d+", run.group()))
        size = sum(len(group.group()) for group in groups)
        even = len(set(re.findall(r"\D", run.group()))) <= 1  # neighboring dates have mixed separators
        good = []
        for first in range(len(groups)):
            for last in range(first + 1, len(groups) + 1):
                part = groups[first:last]
                lengths = tuple(len(group.group()) for group in part)
                usual = lengths in _CARD_GROUPS or (len(part) == 1 and 13 <= lengths[0] <= 19)
                if (usual or (even and len(part) == len(groups) and size <= 16)) and checks.is_card(
                    "".join(group.group() for group in part)
                ):
                    good.append((run.start() + part[0].start(), run.start() + part[-1].end()))
        yield from (PrivatePart("card", *span) for span in good)
        if not good and 13 <= size <= 19 and run.group()[0] in "23456":
            yield PrivatePart("card", *run.span(), sure=False)


def _emails(text: str) -> Iterator[PrivatePart]:
    for match in _EMAIL.finditer(text):
        yield PrivatePart("email", *match.span())


def _phones(text: str) -> Iterator[PrivatePart]:
    for pattern in _PHONES:
        for match in pattern.finditer(text):
            if 7 <= sum(c.isdigit() for c in match.group()) <= 15 and not _DATES.fullmatch(match.group()):
                yield PrivatePart("phone", *match.span())


def _ibans(text: str) -> Iterator[PrivatePart]:
    for match in _IBAN.finditer(text):
        places = [n for n in range(*match.span()) if text[n].isalnum() or text[n] == "|"]
        read = "".join(text[n] for n in places).upper()
        form = checks.IBAN_FORMS.get(read[:2])
        if form is None:
            # Take the longest valid number, because other text may follow in the line.
            good = next((size for size in range(len(read), 14, -1) if checks.is_iban(read[:size])), 0)
            if good:
                yield PrivatePart("iban", match.start(), places[good - 1] + 1)
            continue
        kinds = "".join(kind * int(size) for size, kind in re.findall(r"(\d+)([nac])", form))
        size = 4 + len(kinds)
        if len(read) < size:
            continue
        yield PrivatePart(
            "iban", match.start(), places[size - 1] + 1, sure=checks.is_iban(_corrected("aann" + kinds, read))
        )


def _corrected(form: str, read: str) -> str:
    """Return an IBAN with confused letters and digits corrected by their position."""
    fitting = {"n": _DIGITS_FOR, "a": _LETTERS, "c": {}}
    return "".join(character.translate(fitting[kind]) for kind, character in zip(form, read, strict=False))


def _ninos(text: str) -> Iterator[PrivatePart]:
    for match in _NINO.finditer(text):
        yield PrivatePart("uk_nino", *match.span())


def _numbers(kind: str) -> Callable[[str], Iterator[PrivatePart]]:
    return lambda text: _NUMBERS[kind].find(kind, text)


FINDERS: dict[str, Callable[[str], Iterator[PrivatePart]]] = {
    "email": _emails,
    "card": _cards,
    "iban": _ibans,
    "phone": _phones,
    "us_ssn": _numbers("us_ssn"),
    "de_tax_id": _numbers("de_tax_id"),
    "fr_nir": _numbers("fr_nir"),
    "es_dni": _numbers("es_dni"),
    "uk_nino": _ninos,
}
"""Function that finds a kind of private text, by the name of the kind."""
CHECKED = ("card", "iban", "de_tax_id", "fr_nir", "es_dni")
"""Kinds with a checksum."""


def find(text: str, kinds: tuple[str, ...]) -> list[PrivatePart]:
    """Return the private parts of the given kinds in OCR text. Unsure parts that overlap a sure one are dropped."""
    found = {found for kind in kinds for read in _readings(text) for found in FINDERS[kind](read)}
    sure = [one for one in found if one.sure]
    return sure + [one for one in found if not one.sure and not any(_overlap(one, other) for other in sure)]


def _readings(text: str) -> set[str]:
    """Return the OCR text, and variants of equal length with confused letters replaced by digits."""
    words = re.split(r"(\W+)", text)
    ends_in_letter = [re.sub(r"^[XYZ]?\w{7,8}(?=\w$)", lambda m: _as_number(m[0]), word) for word in words]
    return {
        text,
        "".join(map(_as_number, words)),
        "".join(ends_in_letter),
        "".join(re.sub(r"(?<=\d{7})\d$", lambda m: m[0].translate(_LETTERS), word) for word in ends_in_letter),
    }


def _as_number(word: str) -> str:
    """Return a word with its letters replaced by digits, if it has a digit and the result is a number."""
    start = 1 if word[:1] in ("X", "Y", "Z") else 0
    number = word[:start] + word[start:].translate(_DIGITS_FOR)
    return number if number[start:].isdigit() and re.search(r"\d", word) else word


def _overlap(one: PrivatePart, other: PrivatePart) -> bool:
    return one.start < other.end and other.start < one.end
