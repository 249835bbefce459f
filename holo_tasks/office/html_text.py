"""Convert HTML to the text that a person sees, with tabs between table cells.

The page is parsed by Lexbor (PyPI ``selectolax``), as a browser parses it. `letter` uses this module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holo_tasks.core.extras import require_extra

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_HTML_CHARS = 1_000_000
MAX_DEPTH = 2_000
"""Most open tags. Browsers stop at 512; Lexbor has no limit and needs quadratic time."""

_NEW_LINE = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote br caption center details div dl dt dd fieldset figure footer form h1 h2 h3 "
        "h4 h5 h6 header hr legend li main nav ol option p pre section summary table tbody tfoot thead tr ul",
    )
)
_CELLS = frozenset({"td", "th"})
_SILENT = frozenset({"script", "style", "head", "template", "noscript", "title", "iframe", "object", "svg", "math"})
_VOID = "area base br col embed hr img input link meta source track wbr"
_CLOSED_BY_OTHERS = "colgroup html body option p tbody td tfoot th thead tr"
_ITEMS = {"li": "li", "dd": "dd", "dt": "dd"}
"""Tags that close an open one of their own kind, but nest in one of the other kind."""
_TAG = re.compile(r"<(/?)([a-z][^\s/>]*)", re.I)
_NOT_NESTED = frozenset(f"{_VOID} {_CLOSED_BY_OTHERS}".split())
_PREFORMATTED = frozenset({"listing", "pre", "textarea", "xmp"})
_NOT_A_DECLARATION = re.compile(r"""/\*.*?(?:\*/|$)|"[^"]*"|'[^']*'""", re.S)
_PROPERTIES = frozenset({"display", "font", "font-size", "visibility", "white-space"})
_INHERITED = frozenset({"inherit", "revert", "revert-layer", "unset"})
_VISIBILITY = {"visible": True, "initial": True, "hidden": False, "collapse": False}
_LENGTH = re.compile(r"\+?(\d+(?:\.\d*)?|\.\d+)([a-z]+|%)?")
_FUNCTION = re.compile(r"(?:calc|clamp|min|max|var)\(")
_RELATIVE_UNITS = frozenset({"%", "em", "ex", "ch"})
_RELATIVE_SIZES = frozenset({"larger", "smaller"}) | _INHERITED
_SIZES = frozenset(
    re.findall(
        r"\S+",
        "xx-small x-small small medium large x-large xx-large xxx-large initial "
        "caption icon menu message-box small-caption status-bar",
    )
)
"""Sizes by name, and the fonts of the system, which the property ``font`` accepts."""
_MAX_VALUE = 200


class UnreadableHtml(ValueError):
    """The page cannot be parsed, for example because it nests more than `MAX_DEPTH` tags."""


@dataclass(frozen=True)
class _Look:
    """Inherited properties of an element: whether its font has a size, it is visible, and its line ends are shown."""

    sized: bool = True
    visible: bool = True
    preformatted: bool = False


def html_to_text(html: str) -> str:
    """Return the visible text of a page: one line per row or paragraph, with tabs between table cells.

    Only the first `MAX_HTML_CHARS` characters are read. Raises `UnreadableHtml` for a page that nests too many
    tags, and `InvalidUsage` if selectolax is not installed.
    """
    require_extra("office", "selectolax", "Reading HTML")
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError

    html = html[:MAX_HTML_CHARS]
    _check_depth(html)
    try:
        root = LexborHTMLParser(html).root
    except SelectolaxError:
        raise UnreadableHtml from None
    lines = (re.sub(r"[^\S\t\n]+", " ", line) for line in "".join(_pieces(root)).split("\n"))
    lines = (re.sub(r" ?\t[ \t]*", "\t", line).strip() for line in lines)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def holds_text(html: str) -> bool:
    """Return whether a page holds words outside its tags, scripts and styles, visible or not."""
    bare = re.sub(r"<(script|style|head|title)\b.*?(?:</\1\s*>|$)|<!--.*?(?:-->|$)", " ", html, flags=re.I | re.S)
    return re.search(r"\w", re.sub(r"<[^<>]*>|&#?\w{1,32};", " ", bare)) is not None


def _check_depth(html: str) -> None:
    """Raise `UnreadableHtml` if more than `MAX_DEPTH` tags are open anywhere. Takes linear time."""
    opened: Counter[str] = Counter()
    depth, item = 0, ""
    for closing, name in _TAG.findall(html):
        name = name.lower()
        kind = _ITEMS.get(name, name)
        if kind in _NOT_NESTED or (closing and not opened[kind]):
            continue
        if not closing and name in _ITEMS:
            if kind == item and opened[kind]:
                continue
            item = kind
        opened[kind] += -1 if closing else 1
        depth += -1 if closing else 1
        if depth > MAX_DEPTH:
            raise UnreadableHtml


def _pieces(root: LexborNode | None) -> list[str]:
    """Return the texts of visible nodes in order, with line ends and tabs. Walks without recursion."""
    pieces: list[str] = []
    looks = [_Look()]
    node = root
    while node is not None:
        inside = _enter(node, looks[-1], pieces)
        if inside is not None and node.child is not None:
            looks.append(inside)
            node = node.child
            continue
        if inside is not None:
            _leave(node, pieces)
        while node is not None and node.next is None:
            node = node.parent
            if node is not None and len(looks) > 1:
                looks.pop()
                _leave(node, pieces)
        node = node.next if node is not None else None
    return pieces


def _enter(node: LexborNode, look: _Look, pieces: list[str]) -> _Look | None:
    """Add a node's own text or line end. Return the look of its children, or ``None`` if it is not displayed."""
    tag = node.tag or ""
    if tag == "-text":
        if look.sized and look.visible:
            text = node.text(deep=False)
            # Outside of preformatted text, line ends in the source are rendered as spaces.
            pieces.append(text.replace("\t", " ") if look.preformatted else re.sub(r"\s+", " ", text))
        return None
    if tag.startswith("-") or tag in _SILENT:
        return None
    attributes = node.attributes
    if "hidden" in attributes:
        return None
    if tag in _PREFORMATTED:
        look = replace(look, preformatted=True)
    elif tag == "font" and attributes.get("size"):
        look = replace(look, sized=True)
    style = attributes.get("style")
    if style:
        changed = _styled(style, look)
        if changed is None:
            return None
        look = changed
    if tag in _NEW_LINE:
        pieces.append("\n")
    elif tag in _CELLS:
        pieces.append("\t")
    return look


def _leave(node: LexborNode, pieces: list[str]) -> None:
    tag = node.tag or ""
    if tag in _CELLS:
        pieces.append("\t")
    elif tag in _NEW_LINE and tag not in ("br", "hr"):
        pieces.append("\n")


def _styled(style: str, look: _Look) -> _Look | None:
    """Return the look under a ``style`` attribute, or ``None`` if the element is not displayed.

    A font size of zero is inherited until a child sets an absolute size. Mails made with MJML set zero on every
    wrapper. A relative size of zero is still zero.
    """
    sized, displayed = look.sized, True
    changed = look
    for name, value in _declarations(style):
        if name == "display":
            displayed = value != "none"
        elif name == "visibility":
            visible = look.visible if value in _INHERITED else _VISIBILITY.get(value, changed.visible)
            changed = replace(changed, visible=visible)
        elif name == "white-space":
            changed = replace(changed, preformatted=value.startswith(("pre", "break")))
        else:
            sized = _sized(value, look.sized, sized, shorthand=name == "font")
    return replace(changed, sized=sized) if displayed else None


def _declarations(style: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a ``style`` attribute in lower case, those marked as important last."""
    important = []
    for declaration in _NOT_A_DECLARATION.sub(" ", style).lower().split(";"):
        name, _, value = declaration.partition(":")
        value, mark, _ = value[:_MAX_VALUE].partition("!")
        if name.strip() in _PROPERTIES and value.strip():
            if mark:
                important.append((name.strip(), value.strip()))
            else:
                yield name.strip(), value.strip()
    yield from important


def _sized(value: str, inherited: bool, present: bool, *, shorthand: bool) -> bool:
    """Return whether a font has a size after a declaration. An invalid declaration leaves the ``present`` one."""
    for word in re.split(r"[\s/]+", value) if shorthand else [value]:
        length = _LENGTH.fullmatch(word)
        if length and not float(length[1]):
            return False
        if length and shorthand and not length[2]:
            continue  # the weight of the font
        if word in _RELATIVE_SIZES or (length and length[2] in _RELATIVE_UNITS):
            return inherited
        if length or word in _SIZES or _FUNCTION.match(word):
            return True
    return present
