"""Convert HTML to plain text, with tabs between table cells.

It uses Python's own parser, with limits against hostile pages: linear time, and hidden content stays hidden. `letter`
uses it.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

MAX_HTML_CHARS = 1_000_000

_NEW_LINE = frozenset(
    re.findall(
        r"\w+",
        "address article blockquote br div dl dt dd footer form h1 h2 h3 h4 h5 h6 header hr li main ol p pre "
        "section table tbody tfoot thead tr ul",
    )
)
_SILENT = frozenset({"script", "style", "head", "template", "noscript"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])", re.I)
_DECLARATION = re.compile(r"<[!?][^<>]*>")
# A "<" without a ">" before the next "<" is a character, not a tag.
_STRAY = re.compile(r"<(?![a-zA-Z/][^<>]*>)")


def html_to_text(html: str) -> str:
    """Return the visible text of a page: one line per row or paragraph, with tabs between table cells."""
    reader = _Reader()
    reader.feed(_tame(html[:MAX_HTML_CHARS]))
    reader.close()
    lines = (re.sub(r"[^\S\t\n]+", " ", line) for line in "".join(reader.pieces).split("\n"))
    lines = (re.sub(r" ?\t[ \t]*", "\t", line).strip() for line in lines)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _tame(html: str) -> str:
    """Remove comments and declarations, and escape stray brackets, in linear time.

    html.parser of Python 3.11 needs quadratic time for unclosed comments and tags (CVE-2025-6069). One message could
    otherwise block a worker for hours.
    """
    pieces = []
    position = 0
    while (start := html.find("<!--", position)) >= 0:
        pieces.append(html[position:start])
        end = html.find("-->", start + 4)
        if end < 0:
            position = len(html)
            break
        position = end + 3
    pieces.append(html[position:])
    return _STRAY.sub("&lt;", _DECLARATION.sub("", "".join(pieces)))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden_by = ""  # the tag whose content is hidden, "" outside such a tag
        self._hidden_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden_by:
            self._hidden_depth += tag == self._hidden_by
            return
        if tag in _VOID:
            if tag in _NEW_LINE:
                self.pieces.append("\n")
            return
        given = dict(attrs)
        if tag in _SILENT or "hidden" in given or _HIDDEN_STYLE.search(given.get("style") or ""):
            self._hidden_by, self._hidden_depth = tag, 1
        elif tag in _NEW_LINE:
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append("\t")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _NEW_LINE and not self._hidden_by:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden_by:
            self._hidden_depth -= tag == self._hidden_by
            if not self._hidden_depth:
                self._hidden_by = ""
        elif tag in ("td", "th"):
            self.pieces.append("\t")
        elif tag in _NEW_LINE:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden_by:
            # Line ends in the source are rendered as spaces.
            self.pieces.append(re.sub(r"\s+", " ", data))
