"""Look up and add cell styles in the styles part of a workbook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from holo_tasks.office.xml_spans import Element, content_edit, scan, spliced, tag_with

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
EMPTY = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs></styleSheet>'
).encode()
"""A styles part with the standard style alone, for a workbook that has none."""


@dataclass(frozen=True)
class Look:
    """Changes of a cell style. ``None`` leaves a property unchanged."""

    number_format: str | None = None
    ink: str | None = None
    """The color of the text as RRGGBB; an empty string is the standard color."""
    bold: bool | None = None
    underline: bool | None = None
    fill: str | None = None
    """The background as RRGGBB; an empty string means no fill."""
    quote_prefix: bool | None = None
    alignment: Mapping[str, str] | None = None

    def __hash__(self) -> int:
        return hash((self.number_format, self.ink, self.bold, self.underline, self.fill, self.quote_prefix))


class Styles:
    """The cell styles (``cellXfs``) by number. `variant` adds one only if none like it exists."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._root = scan(data)
        self._prefix = self._root.prefix
        self._items = {name: self._section(name) for name in ("numFmts", "fonts", "fills", "cellXfs")}
        self._had = {name: len(items) for name, items in self._items.items()}
        self._numbers = {name: {item: at for at, item in enumerate(items)} for name, items in self._items.items()}
        self._formats: dict[int, str] = {}
        for item in self._items["numFmts"]:
            attributes = scan(item).attributes
            self._formats[int(attributes["numFmtId"])] = attributes["formatCode"]
        self._known: dict[int, str] = {}
        self._made: dict[tuple[int, Look], int] = {}

    def _section(self, name: str) -> list[bytes]:
        section = self._root.first(name)
        return [self._data[one.start : one.end] for one in section.children] if section else []

    def number_format(self, style: int) -> str:
        """Return the number format of a style, as openpyxl writes it."""
        if style in self._known:
            return self._known[style]
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        number = int(scan(self._items["cellXfs"][style]).attributes.get("numFmtId", "0"))
        self._known[style] = self._formats.get(number, BUILTIN_FORMATS.get(number, "General"))
        return self._known[style]

    def is_locked(self, style: int) -> bool:
        """Return whether cells of a style cannot be changed in a protected sheet, which is the default."""
        xf = scan(self._items["cellXfs"][style])
        protection = xf.first("protection")
        is_own = xf.attributes.get("applyProtection") not in ("0", "false")
        return protection is None or not is_own or protection.attributes.get("locked") not in ("0", "false")

    def variant(self, style: int, look: Look) -> int:
        """Return the number of a style that differs from ``style`` in these properties."""
        if (made := self._made.get((style, look))) is not None:
            return made
        xf = self._items["cellXfs"][style]
        attributes = scan(xf).attributes
        if look.number_format is not None and self.number_format(style) != look.number_format:
            xf = tag_with(xf, numFmtId=str(self._format_id(look.number_format)), applyNumberFormat="1")
        if (look.ink, look.bold, look.underline) != (None, None, None):
            font = self._font(int(attributes.get("fontId", "0")), look)
            xf = tag_with(xf, fontId=str(font), applyFont="1") if str(font) != attributes.get("fontId") else xf
        if look.fill is not None:
            fill = str(self._number("fills", self._fill(look.fill))) if look.fill else "0"
            xf = tag_with(xf, fillId=fill, applyFill="1") if fill != attributes.get("fillId", "0") else xf
        if look.quote_prefix is not None and look.quote_prefix != (attributes.get("quotePrefix") in ("1", "true")):
            xf = tag_with(xf, quotePrefix="1" if look.quote_prefix else None)
        if look.alignment:
            xf = self._aligned(xf, look.alignment)
        made = style if xf == self._items["cellXfs"][style] else self._number("cellXfs", xf)
        self._made[style, look] = made
        return made

    @property
    def is_changed(self) -> bool:
        return any(len(items) > self._had[name] for name, items in self._items.items())

    def data(self) -> bytes:
        """Return the styles part with the added styles."""
        edits = []
        for name, items in self._items.items():
            added = b"".join(items[self._had[name] :])
            if added and (section := self._root.first(name)):
                edits += content_edit(self._data, section, added, count=str(len(items)))
            elif added:  # only the number formats may be missing, and they come first
                whole = (
                    f'<{self._prefix}{name} count="{len(items)}">'.encode()
                    + added
                    + f"</{self._prefix}{name}>".encode()
                )
                edits.append((self._root.inner, self._root.inner, whole))
        return spliced(self._data, edits)

    def _number(self, name: str, item: bytes) -> int:
        number = self._numbers[name].setdefault(item, len(self._items[name]))
        if number == len(self._items[name]):
            self._items[name].append(item)
        return number

    def _format_id(self, code: str) -> int:
        from openpyxl.styles.numbers import BUILTIN_FORMATS_REVERSE

        if code in BUILTIN_FORMATS_REVERSE:
            return int(BUILTIN_FORMATS_REVERSE[code])
        for number, known in self._formats.items():
            if known == code:
                return number
        number = max([163, *self._formats]) + 1
        self._formats[number] = code
        self._number("numFmts", tag_with(f"<{self._prefix}numFmt/>".encode(), numFmtId=str(number), formatCode=code))
        return number

    def _font(self, number: int, look: Look) -> int:
        """Return the number of a font that differs from another in weight, color and underline."""
        data = self._items["fonts"][number]
        font = scan(data)
        new: dict[str, str | None] = {}
        if look.bold is not None:
            new["b"] = "<{}b/>" if look.bold else None
        if look.ink is not None:
            new["color"] = '<{}color rgb="00' + look.ink + '"/>' if look.ink else None
        if look.underline is not None:
            new["u"] = "<{}u/>" if look.underline else None
        same = {"b": bool(font.first("b")) == look.bold, "u": bool(font.first("u")) == look.underline}
        same["color"] = (font.first("color") or Element("", {}, 0)).attributes.get("rgb", "")[-6:] == look.ink
        if all(same[name] for name in new):
            return number
        edits = [(child.start, child.end, b"") for child in font.children if child.name in new and not same[child.name]]
        added = "".join(text.format(self._prefix) for name, text in new.items() if text and not same[name]).encode()
        emptied = spliced(data, edits)
        return self._number("fonts", spliced(emptied, content_edit(emptied, scan(emptied), added)))

    def _fill(self, color: str) -> bytes:
        colors = f'<{{0}}fgColor rgb="00{color}"/><{{0}}bgColor indexed="64"/>'
        return f'<{{0}}fill><{{0}}patternFill patternType="solid">{colors}</{{0}}patternFill></{{0}}fill>'.format(
            self._prefix
        ).encode()

    def _aligned(self, xf: bytes, alignment: Mapping[str, str]) -> bytes:
        root = scan(xf)
        xf = spliced(xf, [(one.start, one.end, b"") for one in root.all("alignment")])
        tag = tag_with(f"<{self._prefix}alignment/>".encode(), **alignment)
        opened = re.sub(rb"\s*/>$", b">", tag_with(xf, applyAlignment="1")) if root.inner == root.end else b""
        if opened:
            return opened + tag + f"</{root.tag}>".encode()
        changed = tag_with(xf, applyAlignment="1")
        inner = scan(changed).inner
        return changed[:inner] + tag + changed[inner:]
