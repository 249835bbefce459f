"""Kinds of private text, found in what was read on a screen: by form, and by check digits where there are any.

OCR takes a 0 for an O. So a number is looked for in the text as it was read and with the letters that
look like digits changed to those. What has the form of a number but not its check digits may have been
read wrongly: it is found too, as not ``sure``, and can be read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holo_tasks.safety.masking import checks

_LOOKS = str.maketrans("OoQDlI|iSsBZzGgqT", "00001111558226997")
"""Letters and the digits they are taken for, one for one, so that places stay the same."""
_LETTERS = str.maketrans("0158|l", "OISBII")
_BEFORE, _AFTER = r"(?<![A-Z0-9])", r"(?![A-Z0-9])"
"""Small letters may stand next to a number: OCR loses the space between."""
_GAP = r"[ .\-/_·]{0,2}"


@dataclass(frozen=True)
class Found:
    """A part of a text, from ``start`` to before ``end``, and what kind of private text it is.

    One that is not ``sure`` has the form of its kind, but its check digits are wrong.
    """

    kind: str
    start: int
    end: int
    sure: bool = True


Check = Callable[[str], bool]


@dataclass(frozen=True)
class _Number:
    """A kind of number: its form in a text, and a check of what is left without spaces."""

    pattern: re.Pattern[str]
    check: Check
    checked: bool = True
    """Whether the check can tell a number that was read wrongly from any other."""

    def find(self, kind: str, text: str) -> Iterator[Found]:
        for match in self.pattern.finditer(text):
            good = self.check(re.sub(r"[^A-Za-z0-9]", "", match.group()).upper())
            if good or self.checked:
                yield Found(kind, *match.span(), sure=good)


def _digits(*groups: int, ends: str = "") -> str:
    """Return a pattern of digits, perhaps with a space or sign between any two groups of them."""
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


def _cards(text: str) -> Iterator[Found]:
    """Find cards in runs of digits: any run of the right length, and in longer ones what is grouped as on a card."""
    for run in _RUN.finditer(text):
        groups = list(re.finditer(r"\d+", run.group()))
        size = sum(len(group.group()) for group in groups)
        even = len(set(re.findall(r"\D", run.group()))) <= 1  # dates side by side are not
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
        yield from (Found("card", *span) for span in good)
        if not good and 13 <= size <= 19 and run.group()[0] in "23456":
            yield Found("card", *run.span(), sure=False)


def _emails(text: str) -> Iterator[Found]:
    for match in _EMAIL.finditer(text):
        yield Found("email", *match.span())


def _phones(text: str) -> Iterator[Found]:
    for pattern in _PHONES:
        for match in pattern.finditer(text):
            if 7 <= sum(c.isdigit() for c in match.group()) <= 15 and not _DATES.fullmatch(match.group()):
                yield Found("phone", *match.span())


def _ibans(text: str) -> Iterator[Found]:
    for match in _IBAN.finditer(text):
        places = [n for n in range(*match.span()) if text[n].isalnum() or text[n] == "|"]
        read = "".join(text[n] for n in places).upper()
        form = checks.IBAN_FORMS.get(read[:2])
        if form is None:
            # The longest run that fits: more of the line may stand behind it.
            good = next((size for size in range(len(read), 14, -1) if checks.is_iban(read[:size])), 0)
            if good:
                yield Found("iban", match.start(), places[good - 1] + 1)
            continue
        kinds = "".join(kind * int(size) for size, kind in re.findall(r"(\d+)([nac])", form))
        size = 4 + len(kinds)
        if len(read) < size:
            continue
        yield Found("iban", match.start(), places[size - 1] + 1, sure=checks.is_iban(_mended("aann" + kinds, read)))


def _mended(form: str, read: str) -> str:
    """Return an account number as it must be: digits where digits stand, letters where letters do."""
    fitting = {"n": _LOOKS, "a": _LETTERS, "c": {}}
    return "".join(character.translate(fitting[kind]) for kind, character in zip(form, read, strict=False))


def _ninos(text: str) -> Iterator[Found]:
    for match in _NINO.finditer(text):
        yield Found("uk_nino", *match.span())


def _numbers(kind: str) -> Callable[[str], Iterator[Found]]:
    return lambda text: _NUMBERS[kind].find(kind, text)


FINDERS: dict[str, Callable[[str], Iterator[Found]]] = {
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
"""How each kind is found in a text."""
CHECKED = ("card", "iban", "de_tax_id", "fr_nir", "es_dni")
"""Kinds with check digits."""


def find(text: str, kinds: tuple[str, ...]) -> list[Found]:
    """Return what of these kinds is in a text as OCR read it; what is sure comes alone where it overlaps a guess."""
    found = {found for kind in kinds for read in _readings(text) for found in FINDERS[kind](read)}
    sure = [one for one in found if one.sure]
    return sure + [one for one in found if not one.sure and not any(_overlap(one, other) for other in sure)]


def _readings(text: str) -> set[str]:
    """Return a text as it was read, and as its numbers may have been meant: of the same length."""
    words = re.split(r"(\W+)", text)
    ends_in_letter = [re.sub(r"^[XYZ]?\w{7,8}(?=\w$)", lambda m: _as_number(m[0]), word) for word in words]
    return {
        text,
        "".join(map(_as_number, words)),
        "".join(ends_in_letter),
        "".join(re.sub(r"(?<=\d{7})\d$", lambda m: m[0].translate(_LETTERS), word) for word in ends_in_letter),
    }


def _as_number(word: str) -> str:
    """Return a word with a digit in it, of which the rest looks like digits, as digits."""
    start = 1 if word[:1] in ("X", "Y", "Z") else 0
    number = word[:start] + word[start:].translate(_LOOKS)
    return number if number[start:].isdigit() and re.search(r"\d", word) else word


def _overlap(one: Found, other: Found) -> bool:
    return one.start < other.end and other.start < one.end
