"""Judge file names that outsiders chose, and turn them into safe names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath

from holo_tasks.core.texts.outside_text import defused
from holo_tasks.core.texts.visible_text import is_hidden

PARTIAL = (".crdownload", ".part", ".partial", ".download", ".opdownload", ".tmp")
"""Endings, in lower case, of files that a browser or an office program is still writing."""
BESIDE = (".crdownload", ".part", ".partial")
"""Endings of partial downloads that lie next to an empty file. A browser may reserve the final name with that file."""
MOST_BYTES, MOST_CHARACTERS, LONGEST_ENDING = 200, 120, 16
"""Limits of a safe name. File systems allow 255 bytes; the rest is for a suffix that makes the name unique."""
_FORBIDDEN = frozenset('/\\:*?"<>|')
_UNNAMED = "file"


def matches(name: str, pattern: str) -> bool:
    """Return whether a file name matches a shell pattern.

    Hidden files, such as lock files of office programs, and partial downloads match only if the pattern has the same
    leading dot or ending.
    """
    if name.startswith(".") and not pattern.startswith("."):
        return False
    ending = next((one for one in PARTIAL if name.lower().endswith(one)), "")
    if ending and not pattern.lower().endswith(ending):
        return False
    return fnmatchcase(name, pattern)


def is_partial(name: str) -> bool:
    """Return whether the name's ending shows that the file is still being written."""
    return name.lower().endswith(PARTIAL)


def safe_name(name: str) -> str:
    """Return a foreign name as a single visible path component of limited length.

    Invisible characters, characters with a meaning in paths or shells, and placeholders of secrets are removed or
    replaced. A long name is cut but keeps its ending. Two names may become the same.
    """
    seen = "".join(_safe_character(character) for character in defused(name))
    flat = " ".join(seen.split()).lstrip(".-~ ").rstrip(". ")
    ending = PurePath(flat).suffix
    stem = flat.removesuffix(ending)
    if len(ending) > LONGEST_ENDING:
        stem, ending = flat, ""
    return (_shortened_stem(stem.rstrip(), len(ending.encode())) or _UNNAMED) + ending


def _safe_character(character: str) -> str:
    if character in _FORBIDDEN or "\ud800" <= character <= "\udfff":  # Python decodes bytes outside UTF-8 as surrogates
        return "_"
    if character.isspace():
        return " "
    return "" if is_hidden(character) else character


def _shortened_stem(stem: str, taken: int) -> str:
    """Return the beginning of a name, with room for an ending of ``taken`` bytes."""
    short = stem[: MOST_CHARACTERS - taken].encode()[: MOST_BYTES - taken]
    return short.decode(errors="ignore").rstrip()
