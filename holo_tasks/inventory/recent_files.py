"""Files that were used of late, as far as they are in folders that may be named.

The list is a file that every program writes into. It is not read as XML: entities and what they may grow into are
nothing that is looked at.
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
from holo_tasks.core.visible_text import one_line
from holo_tasks.inventory.bounded import data_home, read_bounded

LARGEST, MOST_MARKS, MOST_FILES = 4 * 1024 * 1024, 5000, 10
_MARK = re.compile(r"<bookmark\s([^<>]{1,6000})>")
_HREF, _MODIFIED = re.compile(r'href="([^"]{1,4096})"'), re.compile(r'modified="([0-9TZ:.+-]{1,40})"')


def recent_files(allowed: Sequence[str], environment: Mapping[str, str], *, until_s: float) -> tuple[str, ...]:
    """Return the newest files that lie in allowed folders and are there, by what they are called in those."""
    roots = [Path(os.path.realpath(expanded(one))) for one in allowed]
    content = read_bounded(data_home(environment) / "recently-used.xbel", LARGEST) if roots else None
    found: list[str] = []
    for _, path in _newest(content.decode("utf-8", errors="replace") if content else ""):
        if time.monotonic() > until_s or len(found) >= MOST_FILES:
            break
        if (told := _told(path, roots)) and told not in found:
            found.append(told)
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


def _told(path: str, roots: Sequence[Path]) -> str:
    """Return how a file is called below the allowed folder that it really lies in; empty if it lies in none."""
    if not path.startswith("/") or "\0" in path:
        return ""
    if not any(path.startswith(f"{root}{os.sep}") for root in roots):
        return ""  # nothing elsewhere is even looked for
    real = Path(os.path.realpath(path))
    root = next((root for root in roots if real.is_relative_to(root)), None)
    try:
        if root is None or not real.is_file():
            return ""
    except OSError:
        return ""
    return one_line(f"{root.name}/{real.relative_to(root)}", 160)
