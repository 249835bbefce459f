"""Find the elements of an XML document by their byte positions, so that single ones are replaced and the rest stays.

`scan` returns the root element, and `spliced` applies edits. `scan` refuses documents with a DTD, so it expands no
entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers.expat import ParserCreate
from xml.sax.saxutils import escape, quoteattr

DEEPEST = 100
"""Most elements inside each other. Office programs nest fewer than 20; a chain of thousands would take minutes."""
Edit = tuple[int, int, bytes]
"""Start and end of the bytes to replace, and their replacement."""


@dataclass(slots=True)
class Element:
    """An element with its byte positions.

    ``start`` to ``end`` is the whole element, ``inner`` to ``inner_end`` its content. They are equal to ``end`` if the
    element is written as ``<name/>``.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    inner: int = 0
    inner_end: int = 0
    end: int = 0
    children: list[Element] = field(default_factory=list)
    text: str = ""

    @property
    def name(self) -> str:
        """The name without its prefix."""
        return self.tag.rpartition(":")[2]

    @property
    def prefix(self) -> str:
        """The prefix with its colon, or an empty string."""
        return self.tag[: -len(self.name)]

    def all(self, name: str) -> Iterator[Element]:
        """Return the children with this name."""
        return (child for child in self.children if child.name == name)

    def first(self, name: str) -> Element | None:
        """Return the first child with this name."""
        return next(self.all(name), None)

    def walk(self) -> Iterator[Element]:
        """Return this element and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(slots=True)
class RawCell:
    """A cell of a row in its written form: its attributes, the text of its value, and its formula."""

    attributes: dict[str, str]
    text: str = ""
    formula: str | None = None
    has_value: bool = False
    """Whether it has an element for its value, which may be empty."""

    @property
    def has_result(self) -> bool:
        """Whether the result of its formula is stored. The result may be an empty text."""
        return bool(self.text) or (self.has_value and self.attributes.get("t") == "str")


class Scanner:
    """Build elements from the events of expat. Raises `ValueError` for other encodings than UTF-8 and for DTDs.

    Elements called ``leaf`` get no children. Their cells are returned by `read` instead.
    """

    def __init__(self, data: bytes, leaf: str = "") -> None:
        head = re.match(rb"""\s*<\?xml[^>]*encoding=["']([\w-]+)""", data[:200].removeprefix(b"\xef\xbb\xbf"))
        if (head and head[1].upper() not in (b"UTF-8", b"US-ASCII", b"UTF8")) or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError("an encoding other than UTF-8")
        self._data = data
        self._leaf = leaf
        self._open: list[Element] = []
        self._root: Element | None = None
        self._ready: list[tuple[Element, list[RawCell]]] = []
        self._cells: list[RawCell] = []
        self._depth = 0  # below an open leaf
        self._text: list[str] | None = None
        self._parser = ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._outside_of_leaf()

    def _outside_of_leaf(self) -> None:
        self._parser.StartElementHandler = self._started
        self._parser.EndElementHandler = self._ended
        self._parser.CharacterDataHandler = self._said

    @property
    def root(self) -> Element:
        """The root element, after `read`."""
        if self._root is None:
            raise ValueError("no element")
        return self._root

    def read(self) -> Iterator[tuple[Element, list[RawCell]]]:
        """Read the document, and return each leaf with its cells."""
        for start in range(0, len(self._data), _CHUNK):
            self._parser.Parse(self._data[start : start + _CHUNK], False)
            ready, self._ready = self._ready, []
            yield from ready
        self._parser.Parse(b"", True)
        yield from self._ready

    def _started(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self._parser.CurrentByteIndex)
        if len(self._open) > DEEPEST:
            raise ValueError("elements nested too deeply")
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)
        if self._leaf and element.name == self._leaf:
            self._cells = []
            self._parser.StartElementHandler = self._started_in_leaf
            self._parser.EndElementHandler = self._ended_in_leaf
            self._parser.CharacterDataHandler = self._said_in_leaf

    def _ended(self, tag: str) -> None:
        element, at = self._open.pop(), self._parser.CurrentByteIndex
        closing = b"</" + tag.encode()
        if self._data.startswith(closing, at) and self._data[at + len(closing)] in b"> \t\r\n":
            element.inner = _end_of_tag(self._data, element.start)
            element.inner_end, element.end = at, self._data.index(b">", at) + 1
        else:
            element.inner = element.inner_end = element.end = _end_of_tag(self._data, element.start)

    def _said(self, text: str) -> None:
        if self._open:
            self._open[-1].text += text

    def _started_in_leaf(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth % _SPOKEN > DEEPEST:
            raise ValueError("elements nested too deeply")
        if self._depth == 1:
            self._cells.append(RawCell(attributes))
        name = tag.rpartition(":")[2]
        if name in ("v", "t", "f"):
            self._text = []
        elif name == "rPh":  # how a text is spoken
            self._depth += _SPOKEN

    def _ended_in_leaf(self, tag: str) -> None:
        if not self._depth:
            self._ready.append((self._open[-1], self._cells))
            self._outside_of_leaf()
            self._ended(tag)
            return
        self._depth -= 1
        name = tag.rpartition(":")[2]
        if name == "rPh":
            self._depth -= _SPOKEN
        if self._text is None or name not in ("v", "t", "f"):
            return
        text, self._text = "".join(self._text), None
        if self._depth < _SPOKEN:
            cell = self._cells[-1]
            if name == "f":
                cell.formula = text
            else:
                cell.text += text
                cell.has_value = True

    def _said_in_leaf(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _refuse(self, *_: object) -> None:
        raise ValueError("a document type")


_CHUNK, _SPOKEN = 1 << 18, 1 << 20
_NUMBERED = re.compile(r"_x((?!D[89A-F])[0-9A-F]{4})_", re.I)
"""A character by its number, without halves of a pair."""
_LOOKS_NUMBERED = re.compile(r"_(?=x[0-9A-F]{4}_)", re.I)
_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")


def _end_of_tag(data: bytes, start: int) -> int:
    match = _TAG.match(data, start)
    if not match:
        raise ValueError("a tag without an end")
    return match.end()


def scan(data: bytes, *, leaf: str = "") -> Element:
    """Return the root element of a UTF-8 document, or of a whole element cut from one.

    Elements called ``leaf`` get no children. Raises `ValueError` for other encodings and document types, and
    `ExpatError` for invalid XML.
    """
    scanner = Scanner(data, leaf)
    for _ in scanner.read():
        pass
    return scanner.root


def spliced(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return the data with the edits applied. Insertions at one place keep their order."""
    out, done = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        if start < done:
            raise ValueError("edits overlap")
        out += [data[done:start], new]
        done = end
    return b"".join([*out, data[done:]])


def attribute_edit(data: bytes, element: Element, **values: str | None) -> Edit:
    """Return the edit that sets attributes of an element; ``None`` removes one."""
    return element.start, element.inner, tag_with(data[element.start : element.inner], **values)


def tag_with(tag: bytes, **values: str | None) -> bytes:
    """Return a start tag, or a fragment that begins with one, with these attributes; ``None`` removes one."""
    end = _end_of_tag(tag, 0)
    tag, rest = tag[:end], tag[end:]
    for name, value in values.items():
        new = b"" if value is None else f" {name}={quoteattr(value)}".encode()
        pattern = rb"""\s+%s\s*=\s*("[^"]*"|'[^']*')""" % re.escape(name.encode())
        tag, found = re.subn(pattern, lambda _, new=new: new, tag, count=1)  # type: ignore[misc]
        if not found and new:
            tag = re.sub(rb"\s*(/?>)$", lambda end, new=new: new + end[1], tag)  # type: ignore[misc]
    return tag + rest


def content_edit(data: bytes, element: Element, added: bytes, **values: str | None) -> list[Edit]:
    """Return the edits that append content to an element, and set attributes of its start tag."""
    tag = tag_with(data[element.start : element.inner], **values)
    if element.inner < element.end:
        return [(element.start, element.inner, tag), (element.inner_end, element.inner_end, added)]
    whole = re.sub(rb"\s*/>$", b">", tag) + added + f"</{element.tag}>".encode()
    return [(element.start, element.end, whole)]


def escaped(text: str) -> bytes:
    """Return text for the content of an element. A carriage return becomes a reference, as XML would change it."""
    return escape(text, {"\r": "&#13;"}).encode()


def cell_text(text: str) -> str:
    """Return the text of a cell. Office programs write some characters as their numbers, such as ``_x000D_``."""
    return _NUMBERED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def escaped_cell_text(text: str) -> bytes:
    """Return the text of a cell for its element. A text that looks like the number of a character stays itself."""
    return escaped(_LOOKS_NUMBERED.sub("_x005F_", text))
