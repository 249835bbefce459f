"""LibreOffice Writer: add a bold line at the end of a letter."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from benchmarks.office.libreoffice import started
from benchmarks.office.trial import PATIENT, WAIT, OfficeTrial, drawn, keys, write
from benchmarks.values import Item

KIND = "application/vnd.oasis.opendocument.text"
SPACE = "urn:oasis:names:tc:opendocument:xmlns:"
FO = f"{{{SPACE}xsl-fo-compatible:1.0}}"
OFFICE, STYLE, TEXT = (f"{{{SPACE}{name}:1.0}}" for name in ("office", "style", "text"))

LOCK = ".~lock.letter.odt#"
"""The lock file by which LibreOffice shows that a document is open."""
UNREADABLE = (OSError, zipfile.BadZipFile, KeyError, Xml.ParseError)
"""Errors of reading a letter that is being written."""


class Writer(OfficeTrial):
    """The letter is an OpenDocument text. Bold text is recognized by its styles."""

    program, packages = "lowriter", "libreoffice-writer and libreoffice-gtk3"

    @staticmethod
    def prepare(item: Item, work: Path) -> list[str]:
        _, people = drawn(item)
        write_letter(work / "letter.odt", letter_to(people))
        return started(work, "--writer", str(work / "letter.odt"))

    @property
    def last(self) -> str:
        name, people = self.draw
        return f"Please pay {people[2]} by Friday: {name}"

    def asked(self) -> str:
        return f"Add one more line at the end of the letter, in bold: {self.last}. Save it, and keep its format."

    def fault(self) -> str:
        _, people = self.draw
        try:
            reported = read_letter(self.work / "letter.odt")
        except UNREADABLE as error:
            return f"the letter cannot be read: {type(error).__name__}"
        wanted = [*((line, False) for line in letter_to(people)), (self.last, True)]
        return "" if reported == wanted else f"the letter's last line is {reported[-1:]}"[:200]

    def next_act(self) -> Mapping[str, Any] | None:
        """Choose by the file and the last action. Writer has no accessible text, and the rest of its tree is late."""
        last, waited = self.last_act()
        if not (self.work / LOCK).exists() or (last.get("keys") == ["ctrl", "s"] and waited < PATIENT):
            return WAIT
        there = self._not_bold()
        match last.get("keys"):
            case ["ctrl", "end"]:
                return keys("shift", "home") if there else keys("ctrl", "b")
            case ["shift", "home"]:
                return keys("ctrl", "b")
            case ["ctrl", "b"] if not there:
                return write(f"\n{self.last}")
            case ["ctrl", "s"] | None if "content" not in last:
                return keys("ctrl", "end")
        return keys("ctrl", "s")

    def _not_bold(self) -> bool:
        """Return whether the line exists and is not bold."""
        try:
            return (self.last, False) in read_letter(self.work / "letter.odt")
        except UNREADABLE:
            return False


def letter_to(people: list[str]) -> list[str]:
    """Return the lines of a letter."""
    return [f"Dear {people[0]},", f"{people[1]} has sent the three reports that were missing.", "Best regards"]


def write_letter(file: Path, lines: list[str]) -> None:
    """Write lines as an OpenDocument text without bold text."""
    spaces = " ".join(f'xmlns:{name}="{SPACE}{name}:1.0"' for name in ("office", "text"))
    reported = "".join(f"<text:p>{line}</text:p>" for line in lines)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2"><office:body>'
        f"<office:text>{reported}</office:text></office:body></office:document-content>"
    )
    manifest = (
        f'<?xml version="1.0" encoding="UTF-8"?><m:manifest xmlns:m="{SPACE}manifest:1.0" m:version="1.2">'
        f'<m:file-entry m:full-path="/" m:media-type="{KIND}"/>'
        '<m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>'
    )
    with zipfile.ZipFile(file, "w") as whole:  # the entry with the media type comes first, uncompressed
        whole.writestr("mimetype", KIND)
        whole.writestr("content.xml", content)
        whole.writestr("META-INF/manifest.xml", manifest)


def read_letter(file: Path) -> list[tuple[str, bool]]:
    """Return the nonempty lines of an OpenDocument text, each with whether all of the line is bold."""
    with zipfile.ZipFile(file) as whole:
        root = Xml.fromstring(whole.read("content.xml"))
    weights = {
        style.get(f"{STYLE}name"): style.find(f"{STYLE}text-properties").get(f"{FO}font-weight")  # type: ignore[union-attr]
        for style in root.iter(f"{STYLE}style")
        if style.find(f"{STYLE}text-properties") is not None
    }
    reported = []
    for line in root.iter(f"{TEXT}p"):
        text = "".join(line.itertext())
        bold = "".join(
            "".join(part.itertext())
            for part in ([line] if weights.get(line.get(f"{TEXT}style-name")) == "bold" else line)
            if part is line or weights.get(part.get(f"{TEXT}style-name")) == "bold"
        )
        reported += [(text, bold == text)] if text else []
    return reported
