"""LibreOffice Writer: a line in bold at the end of a letter."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from benchmarks.office.libreoffice import keeps_format, started
from benchmarks.office.trial import WAIT, OfficeTrial, drawn, keys, write
from benchmarks.values import Item

KIND = "application/vnd.oasis.opendocument.text"
SPACE = "urn:oasis:names:tc:opendocument:xmlns:"
FO = f"{{{SPACE}xsl-fo-compatible:1.0}}"
OFFICE, STYLE, TEXT = (f"{{{SPACE}{name}:1.0}}" for name in ("office", "style", "text"))


class Writer(OfficeTrial):
    """The letter is an OpenDocument text; what is in bold is read in its styles."""

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

    def why_wrong(self) -> str:
        _, people = self.draw
        try:
            told = read_letter(self.work / "letter.odt")
        except (OSError, zipfile.BadZipFile, KeyError, Xml.ParseError) as error:  # it is being written
            return f"the letter cannot be read: {type(error).__name__}"
        wanted = [*((line, False) for line in letter_to(people)), (self.last, True)]
        return "" if told == wanted else f"the letter's last line is {told[-1:]}"[:200]

    def next_act(self) -> Mapping[str, Any] | None:
        tree = self.tree()
        if keep := keeps_format(tree):
            return keep
        bold = tree.find("toggle button", "Bold")
        if not bold:
            return WAIT
        if any(turn.tool == "write" and not turn.failed for turn in self.turns):
            return keys("ctrl", "s")
        if "checked" in bold[0].states:
            return write(f"\n{self.last}")
        # Of the text itself Writer tells nothing: where the cursor is, is known by what was done last.
        at_end = bool(self.turns) and self.turns[-1].call.get("keys") == ["ctrl", "end"] and not self.turns[-1].failed
        return keys("ctrl", "b") if at_end else keys("ctrl", "end")


def letter_to(people: list[str]) -> list[str]:
    """Return the lines of a letter."""
    return [f"Dear {people[0]},", f"{people[1]} has sent the three reports that were missing.", "Best regards"]


def write_letter(file: Path, lines: list[str]) -> None:
    """Write lines as an OpenDocument text, nothing in bold."""
    spaces = " ".join(f'xmlns:{name}="{SPACE}{name}:1.0"' for name in ("office", "text"))
    told = "".join(f"<text:p>{line}</text:p>" for line in lines)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2"><office:body>'
        f"<office:text>{told}</office:text></office:body></office:document-content>"
    )
    manifest = (
        f'<?xml version="1.0" encoding="UTF-8"?><m:manifest xmlns:m="{SPACE}manifest:1.0" m:version="1.2">'
        f'<m:file-entry m:full-path="/" m:media-type="{KIND}"/>'
        '<m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>'
    )
    with zipfile.ZipFile(file, "w") as whole:  # what says which kind it is comes first, and is not compressed
        whole.writestr("mimetype", KIND)
        whole.writestr("content.xml", content)
        whole.writestr("META-INF/manifest.xml", manifest)


def read_letter(file: Path) -> list[tuple[str, bool]]:
    """Return the lines of an OpenDocument text that hold something, and whether all of each is in bold."""
    with zipfile.ZipFile(file) as whole:
        root = Xml.fromstring(whole.read("content.xml"))
    weights = {
        style.get(f"{STYLE}name"): style.find(f"{STYLE}text-properties").get(f"{FO}font-weight")  # type: ignore[union-attr]
        for style in root.iter(f"{STYLE}style")
        if style.find(f"{STYLE}text-properties") is not None
    }
    told = []
    for line in root.iter(f"{TEXT}p"):
        text = "".join(line.itertext())
        bold = "".join(
            "".join(part.itertext())
            for part in ([line] if weights.get(line.get(f"{TEXT}style-name")) == "bold" else line)
            if part is line or weights.get(part.get(f"{TEXT}style-name")) == "bold"
        )
        told += [(text, bold == text)] if text else []
    return told
