"""Takes the values of secrets out of texts, however they are written there."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote, quote_plus

from holo_tasks.core.secret import PLACEHOLDER, Secret, placeholder

SHORT = 4
"""A value of fewer characters is in too many harmless words: it is looked for as it is, and only standing alone."""
_SMALL = {ord(letter): letter.lower() for letter in ascii_uppercase}
DIGEST = re.compile(r"[0-9a-f]{64}")


class Scrubber:
    """Replaces the values of some secrets by their names. Holds them in memory, and shows them to nobody.

    A value, also as JSON or Python write it, becomes ``{{secret:NAME}}``: if a model writes down what it has read
    somewhere, it is typed by name, under the secret's binding. A value that is encoded (base64 wherever it begins,
    hexadecimal, as in a URL, as in HTML) becomes a mark that types nothing. What stands for a secret already is left
    alone, and so are SHA-256 digests, in which a short value may come up by chance.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        exact: dict[str, str] = {}
        folded: dict[str, str] = {}
        alone: dict[str, str] = {}
        for secret in secrets:
            if len(secret.value) < SHORT:
                alone.setdefault(secret.value, placeholder(secret.name))
                continue
            for form in _written(secret.value):
                exact.setdefault(form, placeholder(secret.name))
            for form in _in_base64(secret.value):
                exact.setdefault(form, f"[secret {secret.name}, encoded]")
            for form in _escaped(secret.value):
                folded.setdefault(_small(form), f"[secret {secret.name}, encoded]")
        self._exact, self._folded, self._alone = exact, folded, alone
        ways = {**{form: f"(?ai:{re.escape(form)})" for form in folded}, **{form: re.escape(form) for form in exact}}
        forms = [PLACEHOLDER.pattern.replace("(", "(?:", 1)]
        forms += [ways[form] for form in sorted(ways, key=len, reverse=True)]
        forms += [rf"(?<![^\W_]){re.escape(value)}(?![^\W_])" for value in sorted(alone, key=len, reverse=True)]
        self._pattern = re.compile("|".join(forms))

    def __bool__(self) -> bool:
        return bool(self._exact or self._alone)

    def __repr__(self) -> str:
        return f"Scrubber({len({*self._exact.values(), *self._alone.values()})} marks)"

    def finds(self, text: str) -> bool:
        """Say whether there may be a value in a text; false is certain."""
        if any(form in text for form in self._exact) or any(value in text for value in self._alone):
            return True
        small = _small(text)
        return any(form in small for form in self._folded)

    def text(self, text: str) -> str:
        """Return a text with names in the place of values."""
        if not self.finds(text) or (DIGEST.fullmatch(text) and text not in self._exact):
            return text
        return self._pattern.sub(self._mark, text)

    def plain(self, value: Any) -> Any:
        """Return plain values, as JSON has them, with names in the place of values; pictures in it are left alone."""
        match value:
            case str():
                return value if value.startswith("data:image/") else self.text(value)
            case Mapping():
                return {self.plain(name): self.plain(item) for name, item in value.items()}
            case list() | tuple():
                return [self.plain(item) for item in value]
            case _:
                return value

    def _mark(self, found: re.Match[str]) -> str:
        text = found[0]
        if text.startswith("{{secret:") and PLACEHOLDER.fullmatch(text):
            return text
        return self._exact.get(text) or self._alone.get(text) or self._folded[_small(text)]


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
    forms |= {quote(data, safe=safe) for safe in ("", "/", "/:@!$&'()*+,;=~")} | {quote_plus(data)}
    forms |= {html.escape(value), html.escape(value, quote=False), html.escape(value).replace("&#x27;", "&#39;")}
    forms |= {"".join(f"&#{ord(letter)};" for letter in value), value.encode("ascii", "xmlcharrefreplace").decode()}
    yield from forms - {value}


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
