"""The site builds strictly: every link and anchor resolves, every page is in the menu, every object has a docstring."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.doc_pages import DOCS, PAGES, ROOT

sys.path.append(str(ROOT / "deployments"))

NAMESPACES = {"http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"}


def test_the_site_builds_and_loads_no_file_from_another_host(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    loaded = r'<(?:script|img|link|iframe)[^>]*(?:src|href)="?(https?:[^" >]+)'
    assert not [found for page in pages for found in re.findall(loaded, page.read_text(encoding="utf-8"))]


def test_links_of_pages_outside_the_site_lead_to_files() -> None:
    for page in (path for path in PAGES if not path.is_relative_to(DOCS)):
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
