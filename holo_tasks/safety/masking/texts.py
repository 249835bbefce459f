"""Mask private text on a frame by OCR. `safety.redaction.Painter` runs `TextMasker` after the maskers by position."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from holo_tasks.core.screen.frame import Frame, Mask
from holo_tasks.core.secrets.codes import NO_CODES, Codes
from holo_tasks.core.secrets.scrub import encodings
from holo_tasks.safety.masking.fuzzy_search import folded_secret, folded_secret_in, name_in, secret_in
from holo_tasks.safety.masking.kinds import CHECKED, FINDERS, PrivatePart, find
from holo_tasks.safety.masking.lines import LineReader, Row, rows_of, wraps_of
from holo_tasks.safety.masking.settings import WORDS
from holo_tasks.safety.masking.user_patterns import Pattern
from holo_tasks.safety.masking.word_boxes import box_on_grid, part_of

SECRET = "secret"
_KNOWN_TEXTS = 4096
_SHORTEST_FOLDED = 4
"""Letters and digits. A shorter secret is found only as a whole word or number, and not by `fuzzy_search`."""
_SHORTEST_ENCODED_SECRET, _SHORTEST_ENCODED_FORM = 6, 8
"""Characters of the shortest secret whose encoded forms are searched, and of the shortest encoded form.

Shorter ones resemble harmless words and amounts.
"""
_COMMON = frozenset(folded_secret(word).text for word in WORDS)
"""Words of common labels, which never count as a piece of a secret.

Otherwise a mask over the label `Password` would reveal that the secret, such as `password123`, contains this word.
"""
_DOUBTFUL_CONFIDENCE = 0.8
"""OCR confidence. A number with a wrong checksum is masked if it was read with less, because it may be misread."""


class TextDetector(Protocol):
    """Finds private parts of a text."""

    def find(self, text: str) -> Sequence[PrivatePart]: ...


class TextMasker:
    """Masks private text that OCR reads: the given kinds, names, patterns by kind, and the values of secrets.

    A secret is found if OCR confuses its characters, or if it is spaced out or wrapped to the next line. Its encoded
    forms (URL, HTML, hexadecimal, base64) and long pieces are found as well. A secret of less than four characters is
    found only as an exact word of its own. One of the one-time ``codes`` is found only as a number of its own.
    """

    def __init__(
        self,
        reader: LineReader,
        *,
        kinds: Sequence[str] = tuple(FINDERS),
        names: Sequence[str] = (),
        patterns: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        detectors: Sequence[TextDetector] = (),
        padding: int = 4,
        codes: Codes = NO_CODES,
    ) -> None:
        self._reader = reader
        self._kinds = tuple(kinds)
        self._names = tuple(names)
        self._patterns = {kind: Pattern(kind, pattern) for kind, pattern in (patterns or {}).items()}
        self._secrets = tuple((secrets or {}).values())
        self._encoded = tuple(dict.fromkeys(form for secret in self._secrets for form in _encoded_forms(secret)))
        self._detectors = tuple(detectors)
        self._padding = padding
        self._codes = codes
        self._codes_known = codes.known()
        self._known: OrderedDict[str, tuple[PrivatePart, ...]] = OrderedDict()

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        return await asyncio.to_thread(self._masks, frame)

    def holds(self, text: str) -> bool:
        """Return whether a text that does not come from OCR holds private text."""
        return any(one.sure for one in find(text, self._kinds)) or any(True for _ in self._in_text(text))

    def _masks(self, frame: Frame) -> list[Mask]:
        lines = self._reader.lines(frame)
        rows = rows_of(lines)
        # Neighboring lines may be parts of one text, or columns of a table, so search both ways.
        alone = [Row((line,)) for row in rows if len(row.lines) > 1 for line in row.lines]
        found = [(row, one) for row in (*rows, *alone) for one in self._in_row(frame, row)]
        found += [(wrap, one) for wrap in wraps_of(rows) for one in self._in_wrap(wrap)]
        masks = [
            Mask(one.kind, box_on_grid(part_of(frame, line, start, end), self._padding))
            for row, one in found
            for line, start, end in row.parts(one.start, one.end)
        ]
        return list(dict.fromkeys(masks))

    def _in_row(self, frame: Frame, row: Row) -> Iterator[PrivatePart]:
        text = row.text
        if self._codes_known is not (codes := self._codes.known()):
            self._codes_known = codes
            self._known.clear()
        for one in find(text, self._kinds):
            if one.sure or self._is_misread(frame, row, one):
                yield one
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = tuple(self._in_text(text))
            if len(self._known) > _KNOWN_TEXTS:
                self._known.popitem(last=False)
        yield from known

    def _in_text(self, text: str) -> Iterator[PrivatePart]:
        """Yield the finds that depend on the text alone."""
        for name in self._names:
            yield from (PrivatePart("name", *span) for span in name_in(name, text))
        for kind, pattern in self._patterns.items():
            yield from (PrivatePart(kind, *span) for span in pattern.spans(text))
        for detector in self._detectors:
            yield from detector.find(text)
        yield from self._secrets_in(text)

    def _in_wrap(self, wrap: Row) -> Iterator[PrivatePart]:
        """Yield finds that begin in one row and end in the next. Finds within a row come from `_in_row`."""
        text = wrap.text
        checked = tuple(kind for kind in self._kinds if kind in CHECKED)
        yield from (one for one in find(text, checked) if one.sure and len(wrap.parts(one.start, one.end)) > 1)
        yield from self._secrets_in(text)

    def _secrets_in(self, text: str) -> Iterator[PrivatePart]:
        seen = folded_secret(text)
        for secret in self._secrets:
            known = folded_secret(secret).text
            if len(known) >= _SHORTEST_FOLDED:
                for start, end in secret_in(secret, seen):
                    if folded_secret(text[start:end]).text not in _COMMON - {known}:
                        yield PrivatePart(SECRET, start, end)
            elif plain := secret.strip():
                # A very short secret would match everywhere, so it must be a whole word or number.
                whole = rf"(?<!\w)(?<!\w[.,]){re.escape(plain)}(?!\w)(?![.,]\w)" if known else re.escape(plain)
                yield from (PrivatePart(SECRET, *match.span()) for match in re.finditer(whole, text))
        for code in self._codes.known():
            for start, end in folded_secret_in(folded_secret(code).text, seen, without_errors=True):
                if _is_whole(text, start, end, number=code.isdigit()):
                    yield PrivatePart(SECRET, start, end)
        for form in self._encoded:
            for start, end in folded_secret_in(form, seen):
                if folded_secret(text[start:end]).text not in _COMMON:
                    yield PrivatePart(SECRET, start, end)

    def _is_misread(self, frame: Frame, row: Row, one: PrivatePart) -> bool:
        """Return whether a number with a wrong checksum may be a private number that OCR misread."""
        parts = row.parts(one.start, one.end)
        if min(line.score for line, _, _ in parts) < _DOUBTFUL_CONFIDENCE:
            return True
        readings = [(line.text, *self._reader.again(frame, line.box)) for line, _, _ in parts]
        for n, others in enumerate(readings):
            for other in others[1:]:
                text = " ".join(other if n == place else variants[0] for place, variants in enumerate(readings))
                if any(again.sure for again in find(text, (one.kind,))):
                    return True
        return False


def _is_whole(text: str, start: int, end: int, *, number: bool) -> bool:
    """Return whether a range is not a part of a longer word or number.

    For a number, OCR must have read at least half of the characters as digits.
    """
    belongs = str.isdigit if number else str.isalnum
    alone = not (belongs(text[start - 1 : start]) or belongs(text[end : end + 1]))
    return alone and (not number or sum(map(str.isdigit, text[start:end])) * 2 >= end - start)


def _encoded_forms(secret: str) -> Iterator[str]:
    """Yield the folded encodings of a secret that a program may show, as an address bar does."""
    known = folded_secret(secret).text
    for form in encodings(secret):
        folded = folded_secret(form).text
        if len(secret) >= _SHORTEST_ENCODED_SECRET and len(folded) >= _SHORTEST_ENCODED_FORM and folded != known:
            yield folded
