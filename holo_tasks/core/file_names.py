"""Names of files as others chose them: which say that a file is not whole yet, and what is made of them for our own."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath

from holo_tasks.core.outside import defused
from holo_tasks.core.visible_text import is_hidden

PARTIAL = (".crdownload", ".part", ".partial", ".download", ".opdownload", ".tmp")
"""How the names of files end that a browser or an office program is still writing, in small letters."""
BESIDE = (".crdownload", ".part", ".partial")
"""A browser may keep the name of a download with an empty file, and write beside it into one with such an ending."""
MOST_BYTES, MOST_CHARACTERS, LONGEST_ENDING = 200, 120, 16
"""How long a name of ours gets: with room for what tells two of a name apart, in the 255 bytes that systems allow."""
_FORBIDDEN = frozenset('/\\:*?"<>|')
_UNNAMED = "file"


def is_meant(name: str, pattern: str) -> bool:
    """Say whether a file of this name is one that ``pattern`` asks for, as a shell's does.

    Hidden files, among them the locks of office programs, are not, nor is what is still being written by its name,
    unless the pattern says so itself.
    """
    if name.startswith(".") and not pattern.startswith("."):
        return False
    ending = next((one for one in PARTIAL if name.lower().endswith(one)), "")
    if ending and not pattern.lower().endswith(ending):
        return False
    return fnmatchcase(name, pattern)


def is_partial(name: str) -> bool:
    """Say whether a name says that its file is still being written."""
    return name.lower().endswith(PARTIAL)


def safe_name(name: str) -> str:
    """Return a name as others chose it, fit for a file of ours: one part of a path, seen as a whole, and not too long.

    What no eye sees, what a path or a shell reads as something else, and placeholders of secrets are not left in it; a
    long name loses its middle, and keeps its ending. Two names may become one.
    """
    seen = "".join(_shown(character) for character in defused(name))
    flat = " ".join(seen.split()).lstrip(".-~ ").rstrip(". ")
    ending = PurePath(flat).suffix
    stem = flat.removesuffix(ending)
    if len(ending) > LONGEST_ENDING:
        stem, ending = flat, ""
    return (_cut(stem.rstrip(), len(ending.encode())) or _UNNAMED) + ending


def _shown(character: str) -> str:
    if character in _FORBIDDEN or "\ud800" <= character <= "\udfff":  # bytes that are no text come as halves of pairs
        return "_"
    if character.isspace():
        return " "
    return "" if is_hidden(character) else character


def _cut(stem: str, taken: int) -> str:
    """Return the beginning of a name that leaves room for the rest of it."""
    short = stem[: MOST_CHARACTERS - taken].encode()[: MOST_BYTES - taken]
    return short.decode(errors="ignore").rstrip()
