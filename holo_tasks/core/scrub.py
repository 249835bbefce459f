"""Takes the values of secrets out of texts, however they are written there."""

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

from holo_tasks.core.codes import Codes
from holo_tasks.core.secret import PLACEHOLDER, Secret, placeholder

SHORT = 4
"""A value of fewer characters is in too many harmless words: it is looked for as it is, and only standing alone."""
_SMALL = {ord(letter): letter.lower() for letter in ascii_uppercase}
DIGEST = re.compile(r"[0-9a-f]{64}")
BY_CHANCE = 12
"""So many characters of a digest are some value's by chance in one of a trillion; fewer may be."""
_OBJECT = re.compile(r"\{\s*\"")
"""Where a JSON object may begin; a placeholder has two braces and no quotation mark."""
_TRIES = 40
"""So many places of a text are tried that look like the beginning of JSON."""
Span: TypeAlias = tuple[int, int, str]
Fixed: TypeAlias = Callable[[str, str], bool]
"""Says of a field's name and its text whether that is a word of a protocol, which nobody could keep secret."""


class Scrubber:
    """Replaces the values of some secrets by their names. Holds them in memory, and shows them to nobody.

    A value, also as JSON or Python write it, becomes ``{{secret:NAME}}``: if a model writes down what it has read
    somewhere, it is typed by name, under the secret's binding. A value that is encoded (base64 wherever it begins,
    hexadecimal, as in a URL, as in HTML), a line of it, or what is left where values overlap, becomes a mark that types
    nothing. What stands for one of these secrets already is left alone, and in SHA-256 digests so is what is short: it
    may come up there by chance. Of a seed, the seed in any spelling and the one-time ``codes`` become such marks.
    """

    def __init__(self, secrets: Iterable[Secret], codes: Codes | None = None) -> None:
        exact: dict[str, str] = {}
        folded: dict[str, str] = {}
        alone: dict[str, str] = {}
        lines: dict[str, str] = {}
        self._names: set[str] = set()
        secrets = tuple(secrets)
        self._codes = Codes(secrets) if codes is None else codes  # which refuses seeds: they need a clock
        for secret in secrets:
            self._names.add(secret.name)
            mark = _seed(secret.name) if secret.totp else placeholder(secret.name)
            for form in secret.seed.spellings() if secret.seed else ():
                folded.setdefault(form, mark)
            for value in (form for text in secret.texts for form in _spellings(text)):
                if len(value) < SHORT:
                    alone.setdefault(value, mark)
                    continue
                for form in _written(value):
                    exact.setdefault(form, mark)
                for form in _in_base64(value):
                    exact.setdefault(form, _encoded(secret.name))
                for form in _escaped(value):
                    folded.setdefault(_small(form), _encoded(secret.name))
            for line in _lines(secret.value):
                for form in (*_written(line), *_in_base64(line)):
                    lines.setdefault(form, f"[secret {secret.name}, a line]")
        self._exact, self._folded, self._alone = {**lines, **exact}, folded, alone
        self._across = {form: mark for form, mark in self._exact.items() if "{" in form or '"' in form}
        marks = {*lines.values(), *folded.values(), *map(_code, self._names), *map(_seed, self._names)}
        self._marks = re.compile("|".join([PLACEHOLDER.pattern.replace("([", "(?:[", 1), *map(re.escape, marks)]))
        self._words = {value: re.compile(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])") for value in alone}

    def __bool__(self) -> bool:
        """Whether there is anything to look for by now: a code may come by mail later."""
        return bool(self._exact or self._alone or self._codes)

    def __repr__(self) -> str:
        return f"Scrubber({len(self._names)} secrets)"

    def finds(self, text: str) -> bool:
        """Say whether there may be a value in a text; false is certain."""
        if not self:
            return False
        if any(form in text for form in self._exact) or any(value in text for value in self._alone):
            return True
        small = _small(text)
        return any(form in small for form in self._folded) or any(True for _ in self._codes.places(text))

    def holds(self, text: str) -> bool:
        """Say whether there is a value in a text."""
        return self.text(text) != text

    def text(self, text: str) -> str:
        """Return a text with names in the place of values."""
        if not self.finds(text):
            return text
        found = self._found(text)
        if DIGEST.fullmatch(text):
            found = [one for one in found if one[1] - one[0] >= BY_CHANCE]
        return self._replaced(text, found)

    def written(self, text: str, fixed: Fixed | None = None) -> str:
        """Return a text with names in the place of values; of JSON objects in it, only in their string values.

        Names of fields, numbers and literals of JSON stay as they are, and so does what is ``fixed``: else a value that
        looks like one of them would make the text mean something else, or nothing.
        """
        if not self.finds(text):
            return text
        if across := list(_places(text, self._across)):
            # A value that has marks of JSON in it may be half in and half out of an object.
            found = [one for one in self._found(text) if any(one[0] < end and at < one[1] for at, end, _ in across)]
            text = self._replaced(text, found)
        told, at = "", 0
        for start, end, value in _objects(text):
            kept = self.plain(value, fixed)
            told += self.text(text[at:start])
            told += text[start:end] if kept == value else _as_json(kept)
            at = end
        return told + self.text(text[at:])

    def plain(self, value: Any, fixed: Fixed | None = None, *, name: str = "") -> Any:
        """Return plain values, as JSON has them, with names in the place of values in their strings.

        ``name`` is that of the field the value is in. The pictures of a message are left alone.
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
        found = [*_places(text, self._exact), *_places(_small(text), self._folded)]
        for value, word in self._words.items():
            found += [(*place.span(), self._alone[value]) for place in word.finditer(text)]
        found += [(start, end, _code(name)) for start, end, name in self._codes.places(text)]
        return found

    def _replaced(self, text: str, found: list[Span]) -> str:
        """Return a text with a mark in the place of each group of places that overlap."""
        known = [
            mark.span()
            for mark in self._marks.finditer(text)
            if not (name := PLACEHOLDER.fullmatch(mark[0])) or name[1].strip() in self._names
        ]
        if known:
            found = [one for one in found if not any(a <= one[0] and one[1] <= b for a, b in known)]
        told, at = "", 0
        for start, end, mark in _merged(found):
            told += text[at:start] + mark
            at = end
        return told + text[at:]


def is_picture(url: str) -> bool:
    """Say whether a URL is a picture itself: nothing but base64 after the comma."""
    kind, comma, data = url.partition(",")
    if not (comma and _PICTURE.fullmatch(kind) and data.isascii()):
        return False
    return not data.encode().translate(None, _BASE64)


_PICTURE = re.compile(r"data:image/[a-z0-9.+-]{1,20};base64")
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a field twice: written anew it would be a good one."""
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a field appears twice")
    return found


_JSON = json.JSONDecoder(object_pairs_hook=_no_doubles)


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value)
    return text


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Return where in a text JSON objects are, and what they are."""
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
    """Return every place where a form is, also those that overlap."""
    for form, mark in forms.items():
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form), mark
            at = text.find(form, at + 1)


def _merged(found: list[Span]) -> Iterator[Span]:
    """Return places that do not overlap: one inside another is part of it, and of others that do nothing is left."""
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


def _encoded(name: str) -> str:
    return f"[secret {name}, encoded]"


def _seed(name: str) -> str:
    return f"[secret {name}, its seed]"


def _code(name: str) -> str:
    return f"[secret {name}, a code]"


def _spellings(value: str) -> Iterator[str]:
    """Return a value as it is, without the white space around it, and with its accents put together or apart."""
    bare = value.strip() or value
    normal = unicodedata.normalize
    yield from dict.fromkeys(form for one in (value, bare) for form in (one, normal("NFC", one), normal("NFD", one)))


def _lines(value: str) -> Iterator[str]:
    """Return the lines of a value of more than one, as long as they would not be found in harmless texts."""
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= SHORT)


def _written(value: str) -> Iterator[str]:
    """Return a value as it is, and as JSON and Python write it: also inside a text that is itself written so."""
    forms = {value}
    for _ in range(2):
        forms |= {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in forms for ascii_only in (True, False)}
    forms |= {json.dumps(form)[1:-1].replace("/", "\\/") for form in (value,)}
    forms |= {repr(value)[1:-1], repr(value.encode())[2:-1], value.encode("unicode_escape").decode()}
    yield from forms


def _escaped(value: str) -> Iterator[str]:
    """Return a value as it is written where not every character can be; large letters may come for small ones."""
    data = value.encode(errors="surrogatepass")
    forms = {data.hex(), data.hex(" "), data.hex(":"), value.encode("utf-16-le", errors="surrogatepass").hex()}
    # Python's, an address bar's, and encodeURIComponent and encodeURI of JavaScript.
    kept = ("", "/", "/:@!$&'()*+,;=~", "!~*'()", ";,/?:@&=+$!~*'()#")
    forms |= {quote(data, safe=safe) for safe in kept} | {quote_plus(data)}
    forms |= {html.escape(value), html.escape(value, quote=False), html.escape(value).replace("&#x27;", "&#39;")}
    forms |= {"".join(f"&#{ord(letter)};" for letter in value), value.encode("ascii", "xmlcharrefreplace").decode()}
    yield from forms - {value}


def encodings(value: str) -> Iterator[str]:
    """Return a value as it shows where it was encoded: as in a URL, as in HTML, in hexadecimal and in base64."""
    yield from _escaped(value)
    yield from _in_base64(value)


def _in_base64(value: str) -> Iterator[str]:
    """Return what base64 makes of a value and of nothing else, wherever in a longer text it begins."""
    data = value.encode(errors="surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for skipped in range(3):
            encoded = encode(bytes(skipped) + data).decode()
            yield encoded[-(-8 * skipped // 6) : 8 * (skipped + len(data)) // 6]


def _small(text: str) -> str:
    """Return a text with the large letters of ASCII, and no others, made small."""
    return text.lower() if text.isascii() else text.translate(_SMALL)
