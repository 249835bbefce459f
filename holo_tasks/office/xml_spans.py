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


class _Scanner:
    """Build elements from the events of expat. The content of elements called ``leaf`` is passed over."""

    def __init__(self, data: bytes, leaf: str) -> None:
        self.data = data
        self.leaf = leaf
        self.open: list[Element] = []
        self.root: Element | None = None
        self.depth = 0  # below an open leaf
        parser = ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._started
        parser.EndElementHandler = self._ended
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        self.parser = parser
        parser.Parse(data, True)

    def _started(self, tag: str, attributes: dict[str, str]) -> None:
        if self.depth:
            self.depth += 1
            return
        element = Element(tag, attributes, self.parser.CurrentByteIndex)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        if self.leaf and element.name == self.leaf:
            self.depth = 1

    def _ended(self, tag: str) -> None:
        if self.depth > 1:
            self.depth -= 1
            return
        self.depth = 0
        element, at = self.open.pop(), self.parser.CurrentByteIndex
        closing = b"</" + tag.encode()
        if self.data.startswith(closing, at) and self.data[at + len(closing)] in b"> \t\r\n":
            element.inner = _end_of_tag(self.data, element.start)
            element.inner_end, element.end = at, self.data.index(b">", at) + 1
        else:
            element.inner = element.inner_end = element.end = _end_of_tag(self.data, element.start)

    def _text(self, text: str) -> None:
        if self.open and not self.depth:
            self.open[-1].text += text

    def _doctype(self, *_: object) -> None:
        raise ValueError("a document type")


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
    head = re.match(rb"""\s*<\?xml[^>]*encoding=["']([\w-]+)""", data.removeprefix(b"\xef\xbb\xbf"))
    if (head and head[1].upper() not in (b"UTF-8", b"US-ASCII", b"UTF8")) or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError("an encoding other than UTF-8")
    root = _Scanner(data, leaf).root
    if root is None:
        raise ValueError("no element")
    return root


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
