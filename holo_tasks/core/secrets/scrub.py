"""Remove the values of secrets from texts, in any common encoding.

`Scrubber` does it; logs, traces and model requests go through one.
"""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import ascii_uppercase
from typing import Any, TypeAlias
from urllib.parse import quote, quote_plus

from holo_tasks.core.secrets.codes import Codes
from holo_tasks.core.secrets.secret import PLACEHOLDER, Secret, placeholder

SHORT = 4
"""Values with fewer characters occur in harmless words, so only exact and separate occurrences are replaced."""
_ASCII_LOWER = {ord(letter): letter.lower() for letter in ascii_uppercase}
DIGEST = re.compile(r"[0-9a-f]{64}")
BY_CHANCE = 12
"""Least length of a match inside a SHA-256 digest. Shorter matches occur by chance; one of this length in one of a
trillion.
"""
_OBJECT = re.compile(r"\{\s*\"")
"""Possible beginning of a JSON object. A placeholder has two braces and no quotation mark."""
_TRIES = 40
"""Most places of a text that are tried as the beginning of JSON."""
Span: TypeAlias = tuple[int, int, str]
Fixed: TypeAlias = Callable[[str, str], bool]
"""Returns whether a field's text is a keyword of a protocol, from the field's name and its text. Keywords are not
secret.
"""


class Scrubber:
    """Replaces the values of secrets by placeholders or marks.

    A value, also as written in JSON or Python, becomes ``{{secret:NAME}}``. A model that repeats such a text then types
    the secret by name, under the secret's binding. Encoded values, single lines of a value, and the rest of overlapping
    values become marks that type nothing. Encodings are base64 at any offset, hexadecimal, URL and HTML escapes.
    Existing placeholders and marks are left alone, and so are short matches in SHA-256 digests, which occur by chance.
    A TOTP seed in any spelling, and its one-time ``codes``, also become marks that type nothing.

    `text` scrubs a plain text, `plain` scrubs JSON data, and `written` scrubs a text that may contain JSON.
    """

    def __init__(self, secrets: Iterable[Secret], codes: Codes | None = None) -> None:
        exact: dict[str, str] = {}
        folded: dict[str, str] = {}
        alone: dict[str, str] = {}
        lines: dict[str, str] = {}
        self._names: set[str] = set()
        secrets = tuple(secrets)
        self._codes = Codes(secrets) if codes is None else codes  # without a clock, Codes refuses seeds
        for secret in secrets:
            self._names.add(secret.name)
            mark = _seed_mark(secret.name) if secret.totp else placeholder(secret.name)
            for form in secret.seed.spellings() if secret.seed else ():
                folded.setdefault(form, mark)
            for value in (form for text in secret.texts for form in _spellings(text)):
                if len(value) < SHORT:
                    alone.setdefault(value, mark)
                    continue
                for form in _source_forms(value):
                    exact.setdefault(form, mark)
                for form in _in_base64(value):
                    exact.setdefault(form, _encoded_mark(secret.name))
                for form in _escaped(value):
                    folded.setdefault(_ascii_lower(form), _encoded_mark(secret.name))
            for line in _long_lines(secret.value):
                for form in (*_source_forms(line), *_in_base64(line)):
                    lines.setdefault(form, f"[secret {secret.name}, a line]")
        self._exact, self._folded, self._alone = {**lines, **exact}, folded, alone
        self._across = {form: mark for form, mark in self._exact.items() if "{" in form or '"' in form}
        marks = {*lines.values(), *folded.values(), *map(_code_mark, self._names), *map(_seed_mark, self._names)}
        self._marks = re.compile("|".join([PLACEHOLDER.pattern.replace("([", "(?:[", 1), *map(re.escape, marks)]))
        self._words = {value: re.compile(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])") for value in alone}

    def __bool__(self) -> bool:
        """Whether there is anything to look for. This may change, because a code may come by mail later."""
        return bool(self._exact or self._alone or self._codes)

    def __repr__(self) -> str:
        return f"Scrubber({len(self._names)} secrets)"

    def may_hold(self, text: str) -> bool:
        """Return whether a text may hold a value; false is certain."""
        if not self:
            return False
        if any(form in text for form in self._exact) or any(value in text for value in self._alone):
            return True
        small = _ascii_lower(text)
        return any(form in small for form in self._folded) or any(True for _ in self._codes.places(text))

    def holds(self, text: str) -> bool:
        """Return whether a text holds a value."""
        return self.text(text) != text

    def text(self, text: str) -> str:
        """Return a text with placeholders and marks instead of values."""
        if not self.may_hold(text):
            return text
        found = self._found(text)
        if DIGEST.fullmatch(text):
            found = [one for one in found if one[1] - one[0] >= BY_CHANCE]
        return self._with_marks(text, found)

    def written(self, text: str, fixed: Fixed | None = None) -> str:
        """Return a text with values replaced; in JSON objects inside it, only string values change.

        Field names, numbers and literals of JSON stay, and so do string values for which ``fixed`` returns true.
        Otherwise a value that looks like a number or a keyword would change or break the text's meaning.
        """
        if not self.may_hold(text):
            return text
        if across := list(_places(text, self._across)):
            # A value with JSON punctuation may cross the boundary of an object.
            found = [one for one in self._found(text) if any(one[0] < end and at < one[1] for at, end, _ in across)]
            text = self._with_marks(text, found)
        reported, at = "", 0
        for start, end, value in _objects(text):
            kept = self.plain(value, fixed)
            reported += self.text(text[at:start])
            reported += text[start:end] if kept == value else _as_json(kept)
            at = end
        return reported + self.text(text[at:])

    def plain(self, value: Any, fixed: Fixed | None = None, *, name: str = "") -> Any:
        """Return JSON types with values replaced in their strings.

        ``name`` is the name of the field that holds the value. Pictures in a message are left alone.
        """
        match value:
            case str():
                if fixed is not None and fixed(name, value):
                    return value
                return self.written(value, fixed)
            case {"type": "image_url", "image_url": {"url": str(url)}} if is_picture(url):
                return value
            case Mapping():
                return {key: self.plain(item, fixed, name=str(key)) for key, item in value.items()}
            case list() | tuple():
                return [self.plain(item, fixed, name=name) for item in value]
            case _:
                return value

    def _found(self, text: str) -> list[Span]:
        found = [*_places(text, self._exact), *_places(_ascii_lower(text), self._folded)]
        for value, word in self._words.items():
            found += [(*place.span(), self._alone[value]) for place in word.finditer(text)]
        found += [(start, end, _code_mark(name)) for start, end, name in self._codes.places(text)]
        return found

    def _with_marks(self, text: str, found: list[Span]) -> str:
        """Return a text with each group of overlapping matches replaced by one mark."""
        known = [
            mark.span()
            for mark in self._marks.finditer(text)
            if not (name := PLACEHOLDER.fullmatch(mark[0])) or name[1].strip() in self._names
        ]
        if known:
            found = [one for one in found if not any(a <= one[0] and one[1] <= b for a, b in known)]
        reported, at = "", 0
        for start, end, mark in _merged(found):
            reported += text[at:start] + mark
            at = end
        return reported + text[at:]


def is_picture(url: str) -> bool:
    """Return whether a URL is a data URL of a picture, with only base64 after the comma."""
    kind, comma, data = url.partition(",")
    if not (comma and _PICTURE.fullmatch(kind) and data.isascii()):
        return False
    return not data.encode().translate(None, _BASE64)


_PICTURE = re.compile(r"data:image/[a-z0-9.+-]{1,20};base64")
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject an object with a duplicate field. Rewriting it would drop a field and hide that it is invalid."""
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a field appears twice")
    return found


_JSON = json.JSONDecoder(object_pairs_hook=_no_doubles)


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return json.dumps(value)
    return text


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the start, the end and the value of each JSON object in a text."""
    at = 0
    for _ in range(_TRIES):
        if (begins := _OBJECT.search(text, at)) is None:
            return
        try:
            value, end = _JSON.raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            at = begins.end()
        else:
            yield begins.start(), end, value
            at = end


def _places(text: str, forms: Mapping[str, str]) -> Iterator[Span]:
    """Yield every occurrence of the forms, including overlapping ones."""
    for form, mark in forms.items():
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form), mark
            at = text.find(form, at + 1)


def _merged(found: list[Span]) -> Iterator[Span]:
    """Yield matches without overlaps.

    A match inside another is dropped; partly overlapping ones become one ``[secret]``.
    """
    group: Span | None = None
    for start, end, mark in sorted(found, key=lambda one: (one[0], -one[1])):
        if group is None or start >= group[1]:
            if group is not None:
                yield group
            group = (start, end, mark)
        elif end > group[1]:
            group = (group[0], end, "[secret]")
    if group is not None:
        yield group


def _encoded_mark(name: str) -> str:
    return f"[secret {name}, encoded]"


def _seed_mark(name: str) -> str:
    return f"[secret {name}, its seed]"


def _code_mark(name: str) -> str:
    return f"[secret {name}, a code]"


def _spellings(value: str) -> Iterator[str]:
    """Yield a value unchanged and without surrounding white space, also with composed and decomposed accents."""
    bare = value.strip() or value
    normal = unicodedata.normalize
    yield from dict.fromkeys(form for one in (value, bare) for form in (one, normal("NFC", one), normal("NFD", one)))


def _long_lines(value: str) -> Iterator[str]:
    """Yield the lines of a value with several lines, without lines so short that they occur in harmless texts."""
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= SHORT)


def _source_forms(value: str) -> Iterator[str]:
    """Yield a value unchanged and as JSON and Python write it, also when such a text is escaped again."""
    forms = {value}
    for _ in range(2):
        forms |= {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in forms for ascii_only in (True, False)}
    forms |= {json.dumps(form)[1:-1].replace("/", "\\/") for form in (value,)}
    forms |= {repr(value)[1:-1], repr(value.encode())[2:-1], value.encode("unicode_escape").decode()}
    yield from forms


def _escaped(value: str) -> Iterator[str]:
    """Yield the encodings of a value for restricted character sets, whose letters may be in upper or lower case."""
    data = value.encode(errors="surrogatepass")
    forms = {data.hex(), data.hex(" "), data.hex(":"), value.encode("utf-16-le", errors="surrogatepass").hex()}
    # Safe characters of Python's quote, of an address bar, and of JavaScript's encodeURIComponent and encodeURI.
    kept = ("", "/", "/:@!$&'()*+,;=~", "!~*'()", ";,/?:@&=+$!~*'()#")
    forms |= {quote(data, safe=safe) for safe in kept} | {quote_plus(data)}
    forms |= {html.escape(value), html.escape(value, quote=False), html.escape(value).replace("&#x27;", "&#39;")}
    forms |= {"".join(f"&#{ord(letter)};" for letter in value), value.encode("ascii", "xmlcharrefreplace").decode()}
    yield from forms - {value}


def encodings(value: str) -> Iterator[str]:
    """Yield the encodings of a value: URL and HTML escapes, hexadecimal and base64."""
    yield from _escaped(value)
    yield from _in_base64(value)


def _in_base64(value: str) -> Iterator[str]:
    """Yield the base64 of a value at each of the three offsets, without characters that depend on its neighbors."""
    data = value.encode(errors="surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for skipped in range(3):
            encoded = encode(bytes(skipped) + data).decode()
            yield encoded[-(-8 * skipped // 6) : 8 * (skipped + len(data)) // 6]


def _ascii_lower(text: str) -> str:
    """Return a text with ASCII letters in lower case and other letters unchanged."""
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)
