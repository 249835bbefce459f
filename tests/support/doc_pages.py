"""The documentation pages and their code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?$")


@dataclass(frozen=True)
class Block:
    """A code block: its page, its first line, its language, its file name (if it shows a file), and its text."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str, pages: list[Path] = PAGES) -> list[Block]:
    """Return all code blocks of some languages, in page order."""
    return [block for page in pages for block in _blocks(page) if block.language in languages]


def languages() -> set[str]:
    """Return the languages of all code blocks."""
    return {block.language for page in PAGES for block in _blocks(page)}


def _blocks(page: Path) -> Iterator[Block]:
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    for number, line in lines:
        if not line.lstrip().startswith("```"):
            continue
        begun = _FENCE.match(line)
        assert begun, f"{page}:{number}: a code block begins with ``` and its language, not {line!r}"
        indent, text = begun["indent"], list[str]()
        for _, inside in lines:
            if inside.strip() == "```":
                break
            text.append(inside.removeprefix(indent))
        yield Block(page, number, begun["language"], begun["title"] or "", "\n".join(text) + "\n")
