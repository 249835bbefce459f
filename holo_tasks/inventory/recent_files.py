"""List recently used files in allowed folders.

Every program writes to the list ``recently-used.xbel``. It is searched with patterns and not parsed as XML, so entity
expansion cannot exhaust memory. `recent_files` is the main function.
"""

from __future__ import annotations

import html
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holo_tasks.core.paths import expanded
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.inventory.bounded_reading import data_home, read_bounded

LARGEST, MOST_MARKS, MOST_FILES = 4 * 1024 * 1024, 5000, 10
"""Limits: bytes of the list, number of its entries, and number of files."""
_MARK = re.compile(r"<bookmark\s([^<>]{1,6000})>")
_HREF, _MODIFIED = re.compile(r'href="([^"]{1,4096})"'), re.compile(r'modified="([0-9TZ:.+-]{1,40})"')


def recent_files(allowed: Sequence[str], environment: Mapping[str, str], *, until_s: float) -> tuple[str, ...]:
    """Return the newest existing files below the allowed folders, as paths that begin with the folder's own name."""
    roots = [Path(os.path.realpath(expanded(one))) for one in allowed]
    content = read_bounded(data_home(environment) / "recently-used.xbel", LARGEST) if roots else None
    found: list[str] = []
    for _, path in _newest(content.decode("utf-8", errors="replace") if content else ""):
        if time.monotonic() > until_s or len(found) >= MOST_FILES:
            break
        if (name := _allowed_name(path, roots)) and name not in found:
            found.append(name)
    return tuple(found)


def _newest(text: str) -> list[tuple[str, str]]:
    marks = []
    for number, mark in enumerate(_MARK.finditer(text)):
        if number >= MOST_MARKS:
            break
        href, modified = _HREF.search(mark[1]), _MODIFIED.search(mark[1])
        if href is not None:
            address = urlsplit(html.unescape(href[1]))
            if address.scheme == "file" and address.netloc in ("", "localhost"):
                marks.append((modified[1] if modified else "", unquote(address.path)))
    return sorted(marks, reverse=True)


def _allowed_name(path: str, roots: Sequence[Path]) -> str:
    """Return the file's name below the allowed folder that it really lies in, or an empty string."""
    if not path.startswith("/") or "\0" in path:
        return ""
    if not any(path.startswith(f"{root}{os.sep}") for root in roots):
        return ""  # paths outside the allowed folders are not even checked for existence
    real = Path(os.path.realpath(path))
    root = next((root for root in roots if real.is_relative_to(root)), None)
    try:
        if root is None or not real.is_file():
            return ""
    except OSError:
        return ""
    return one_line(f"{root.name}/{real.relative_to(root)}", 160)
