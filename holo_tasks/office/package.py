"""Read and change the parts of an Office file (a ZIP archive), and leave all other parts unchanged."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count, islice
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

from holo_tasks.office.xml_spans import Element, attribute_edit, content_edit, scan, spliced

_RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_CHUNK, _ENCRYPTED = 1 << 20, 0x1
_TYPES = "[Content_Types].xml"
_SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


@dataclass(frozen=True)
class Relationship:
    """A link from one part to another part, or to an outside address."""

    id: str
    kind: str
    """The last word of the type's address, for example ``table``."""
    target: str
    outside: bool


@dataclass(frozen=True)
class Sheet:
    """A sheet of a workbook: its name, its part, and whether it has cells (a chart sheet has none)."""

    name: str
    part: str
    has_cells: bool
    is_visible: bool


class Package:
    """The parts of a file by name. Raises `zipfile.BadZipFile`, `KeyError` or `ValueError` for an invalid file.

    Two parts of one name are invalid: programs would read one or the other. Case makes no difference in names.
    """

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        if len({one.filename.lower() for one in self._archive.infolist()}) < len(self._archive.infolist()):
            raise zipfile.BadZipFile("two parts of one name")
        self._new: dict[str, bytes] = {}
        self._dropped: set[str] = set()

    def read(self, part: str) -> bytes:
        """Return the present content of a part."""
        return self._new[part] if part in self._new else self._archive.read(part)

    def has(self, part: str) -> bool:
        return part in self._new or (part in self._archive.NameToInfo and part not in self._dropped)

    def names(self) -> list[str]:
        """Return the names of all parts."""
        return [name for name in {**self._archive.NameToInfo, **self._new} if self.has(name)]

    def write(self, part: str, content: bytes) -> None:
        """Replace a part, or add one."""
        self._new[part] = content

    def add(self, part: str, content: bytes, content_type: str) -> None:
        """Add a part of this content type."""
        self.write(part, content)
        types = self.read(_TYPES)
        root = scan(types)
        entry = f"<{root.prefix}Override PartName={quoteattr('/' + part)} ContentType={quoteattr(content_type)}/>"
        self.write(_TYPES, spliced(types, content_edit(types, root, entry.encode())))

    def drop(self, source: str, relationship: Relationship) -> None:
        """Remove a part, its content type, and the relationship by which ``source`` refers to it."""
        self._dropped.add(relationship.target)
        self.drop_relationships(source, [relationship.id])
        types = self.read(_TYPES)
        entries = [e for e in scan(types).children if e.attributes.get("PartName") == "/" + relationship.target]
        self.write(_TYPES, spliced(types, [(entry.start, entry.end, b"") for entry in entries]))

    def relationships(self, source: str) -> list[Relationship]:
        """Return the relationships of a part; ``""`` is the file as a whole."""
        place = _relationships_of(source)
        if not self.has(place):
            return []
        folder = posixpath.dirname(source)
        return [_relationship(entry, folder) for entry in scan(self.read(place)).all("Relationship")]

    def relate(self, source: str, kind: str, targets: Sequence[str], *, outside: bool = False) -> list[str]:
        """Add relationships and return their ids. Targets are relative to the folder of ``source``."""
        place = _relationships_of(source)
        if not self.has(place):
            self.write(
                place, f'<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="{_RELATIONSHIPS}"/>'.encode()
            )
        data = self.read(place)
        root = scan(data)
        taken = {entry.attributes.get("Id") for entry in root.children}
        free = (f"rId{number}" for number in count(len(taken) + 1) if f"rId{number}" not in taken)
        ids = list(islice(free, len(targets)))
        mode = ' TargetMode="External"' if outside else ""
        entries = "".join(
            f'<{root.prefix}Relationship Id="{id}" Type="{OFFICE}/{kind}" Target={quoteattr(target)}{mode}/>'
            for id, target in zip(ids, targets, strict=True)
        )
        self.write(place, spliced(data, content_edit(data, root, entries.encode())))
        return ids

    def drop_relationships(self, source: str, ids: Collection[str]) -> None:
        place = _relationships_of(source)
        data = self.read(place)
        entries = [entry for entry in scan(data).children if entry.attributes.get("Id") in ids]
        self.write(place, spliced(data, [(entry.start, entry.end, b"") for entry in entries]))

    def packed(self) -> bytes:
        """Return the file. Parts keep their order and dates."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for old in self._archive.infolist():
                if old.filename not in self._dropped:
                    content = self._new.pop(old.filename, None)
                    info = zipfile.ZipInfo(old.filename, max(old.date_time, (1980, 1, 1, 0, 0, 0)))
                    info.external_attr = old.external_attr
                    if old.compress_type != zipfile.ZIP_STORED:
                        info.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(info, self._archive.read(old) if content is None else content)
            for part, content in self._new.items():
                archive.writestr(part, content)
        return out.getvalue()


class BookPackage(Package):
    """The file of a workbook, with the places of its parts."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.book = next(one.target for one in self.relationships("") if one.kind == "officeDocument")

    def sheets(self) -> list[Sheet]:
        """Return the sheets in their order."""
        targets = {one.id: one for one in self.relationships(self.book)}
        entries = scan(self.read(self.book)).first("sheets")
        found = []
        for entry in entries.children if entries else []:
            id = next((value for name, value in entry.attributes.items() if name.endswith(":id")), "")
            is_visible = entry.attributes.get("state", "visible") == "visible"
            has_cells = targets[id].kind == "worksheet"
            found.append(Sheet(entry.attributes["name"], targets[id].target, has_cells, is_visible))
        return found

    def sheet(self, name: str) -> Sheet | None:
        """Return the sheet of this name. A workbook cannot have two whose names differ in case only."""
        named = [one for one in self.sheets() if one.name.casefold() == name.casefold()]
        return next((one for one in named if one.name == name), named[0] if named else None)

    def add_sheet(self, name: str, content: bytes) -> None:
        """Add a worksheet after the others."""
        part = next(part for number in count(1) if not self.has(part := f"xl/worksheets/sheet{number}.xml"))
        self.add(part, content, f"{_SPREADSHEET}.worksheet+xml")
        id = self.relate(self.book, "worksheet", ["/" + part])[0]
        data = self.read(self.book)
        root = scan(data)
        entries = root.first("sheets")
        if entries is None:
            raise KeyError("sheets")
        number = 1 + max((int(entry.attributes["sheetId"]) for entry in entries.children), default=0)
        entry = f'<{root.prefix}sheet name={quoteattr(name)} sheetId="{number}" xmlns:r="{OFFICE}" r:id="{id}"/>'
        self.write(self.book, spliced(data, content_edit(data, entries, entry.encode())))

    def epoch(self) -> datetime:
        """Return the first day of the workbook's dates."""
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

        settings = scan(self.read(self.book)).first("workbookPr")
        is_late = settings is not None and settings.attributes.get("date1904") in ("1", "true")
        return MAC_EPOCH if is_late else WINDOWS_EPOCH

    def shared_strings(self) -> bytes:
        """Return the part with the texts that cells share; empty without such a part."""
        strings = self.related(self.book, "sharedStrings")
        return self.read(strings.target) if strings else b""

    def related(self, source: str, kind: str) -> Relationship | None:
        """Return the first relationship of this kind."""
        return next((one for one in self.relationships(source) if one.kind == kind), None)

    @property
    def calculates_on_load(self) -> bool:
        """Whether programs are to calculate all formulas first, because the stored results may be missing or old.

        XlsxWriter stores 0 for each formula, and relies on this.
        """
        setting = scan(self.read(self.book)).first("calcPr")
        return setting is not None and setting.attributes.get("fullCalcOnLoad") in ("1", "true")

    def calculate_on_load(self) -> None:
        """Let programs calculate all formulas when they open the workbook."""
        data = self.read(self.book)
        root = scan(data)
        if setting := root.first("calcPr"):
            edits = [attribute_edit(data, setting, fullCalcOnLoad="1")]
        else:
            # These elements come before calcPr.
            before = ("definedNames", "externalReferences", "functionGroups", "sheets")
            last = next(element for name in before if (element := root.first(name)))
            edits = [(last.end, last.end, f'<{root.prefix}calcPr fullCalcOnLoad="1"/>'.encode())]
        self.write(self.book, spliced(data, edits))


def _relationship(entry: Element, folder: str) -> Relationship:
    target, outside = entry.attributes["Target"], entry.attributes.get("TargetMode") == "External"
    if not outside:
        target = posixpath.normpath(posixpath.join("/" + folder, unquote(target))).lstrip("/")
    return Relationship(entry.attributes["Id"], entry.attributes["Type"].rpartition("/")[2], target, outside)


def _relationships_of(source: str) -> str:
    folder, name = posixpath.split(source)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def unpacked_size(packed: zipfile.ZipFile, most: int) -> int:
    """Return the size of all parts of a package, as the package says.

    Raises `zipfile.BadZipFile` if a part is larger than that, or encrypted: unpacking it as a whole could take any
    amount of memory. Packages larger than ``most`` are not unpacked.
    """
    size = sum(part.file_size for part in packed.infolist())
    for part in packed.infolist() if size <= most else ():
        if part.flag_bits & _ENCRYPTED:
            raise zipfile.BadZipFile("an encrypted part")
        with packed.open(part) as content:
            while content.read(_CHUNK):
                pass
    return size
