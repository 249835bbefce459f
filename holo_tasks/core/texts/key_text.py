"""One spelling for keys of business items, from wherever they come: a mail, a sheet, a command, a flow."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff]")
"""Characters without meaning in a key that programs add: soft hyphens, zero-width blanks, marks of direction."""


def key_text(text: str) -> str:
    """Return a key in one spelling: Unicode form NFC, without invisible characters, with single blanks.

    People and programs write the same key with a trailing blank, a non-breaking blank or a combining accent. Case is
    kept, because some systems tell keys apart by it. Other control characters inside a key are kept as well.
    """
    if not text.isascii():
        normal = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
        text = "".join(" " if unicodedata.category(character) == "Zs" else character for character in normal)
    return re.sub(r"[ \t]+", " ", text).strip()
