"""What the pages of this package have in common: one file, nothing from elsewhere, only their own style and script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import IO

from holo_tasks.audit.words import safe
from holo_tasks.core.errors import InvalidUsage


@contextmanager
def whole_page(out: Path, what: str) -> Iterator[IO[str]]:
    """Give a file to write a page into; it is put in its place whole, or not at all."""
    part = out.with_name(f".{out.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as page:
            yield page
        part.replace(out)
    except OSError as error:
        raise InvalidUsage(f"the {what} cannot be written to {out}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def head(title: str, script: str) -> str:
    """Return a page up to its body; its policy lets nothing run but this very script, and nothing be fetched."""
    style = asset("page.css")
    return Template(asset("page_head.html")).substitute(
        page_title=safe(title), style=style, style_hash=_csp_hash(style), script_hash=_csp_hash(script)
    )


def end(script: str) -> str:
    """Return the end of a page, with its script."""
    return f"<script>{script}</script>\n</body>\n</html>\n"


def asset(name: str) -> str:
    """Return a file that lies beside this one."""
    return files("holo_tasks.audit").joinpath(name).read_text("utf-8")


def _csp_hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
