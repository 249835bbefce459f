"""Pages of the documentation site that are made of files outside `docs/` (`hooks:` in mkdocs.yml).

`ARCHITECTURE.md` becomes the page Architecture. GitHub draws its Mermaid diagrams itself. On the site a drawn picture
replaces each diagram, so that the page loads no script. `python3 deployments/site_pages.py` draws the pictures again
with npm's `@mermaid-js/mermaid-cli` and Debian's Chromium. Each picture names the digest of its source, and
`tests/docs` compares the two.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "ARCHITECTURE.md"
DIAGRAM = re.compile(r"```mermaid\n(?P<source>.*?)```\n", re.DOTALL)
DRAWN_BY = "@mermaid-js/mermaid-cli@11"
LOOK = {"theme": "neutral", "fontFamily": "Helvetica, Arial, sans-serif", "htmlLabels": False}
CHROMIUM = {"executablePath": "/usr/bin/chromium", "args": ["--no-sandbox"]}


def diagrams() -> list[str]:
    """Return the Mermaid source of each diagram, in the order of the page."""
    return [found["source"] for found in DIAGRAM.finditer(SOURCE.read_text(encoding="utf-8"))]


def picture(number: int) -> Path:
    """Return the file with the drawing of a diagram. The first has number 1."""
    return ROOT / f"docs/images/architecture-{number}.svg"


def digest(source: str) -> str:
    """Return the digest that the drawing of a diagram has in its first line."""
    return hashlib.sha256(source.encode()).hexdigest()


def page() -> str:
    """Return the page of the site: links are relative to `docs/`, and pictures replace the diagrams."""
    text = SOURCE.read_text(encoding="utf-8").replace("](docs/", "](")
    for number, found in enumerate(list(DIAGRAM.finditer(text)), start=1):
        text = text.replace(found[0], f"![Diagram {number} of the architecture](images/{picture(number).name})\n")
    return text


def on_files(files: Any, config: Any) -> Any:
    """Add the page to the files of the site. MkDocs calls this."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "architecture.md", content=page()))
    return files


def draw(source: str, out: Path) -> None:
    """Draw one diagram as SVG, with its digest in a comment."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "in.mmd").write_text(source, encoding="utf-8")
        (place / "look.json").write_text(json.dumps(LOOK), encoding="utf-8")
        (place / "chromium.json").write_text(json.dumps(CHROMIUM), encoding="utf-8")
        options = ["-i", "in.mmd", "-o", "out.svg", "-c", "look.json", "-p", "chromium.json", "-I", out.stem]
        subprocess.run(
            ["npx", "--yes", "--package", DRAWN_BY, "mmdc", *options],
            cwd=place,
            env={**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"},
            check=True,
        )
        drawn = (place / "out.svg").read_text(encoding="utf-8")
    out.write_text(f"<!-- Mermaid source: sha256 {digest(source)} -->\n{drawn}\n", encoding="utf-8")


if __name__ == "__main__":
    for number, source in enumerate(diagrams(), start=1):
        draw(source, picture(number))
