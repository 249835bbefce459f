"""Write self-contained HTML pages: one file each, without network access, and with their own style and script only.

`write_page` renders a template, and `whole_page` replaces the output file atomically.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from holo_tasks.audit.pages.formatting import clock, count, duration, listed, money, visible
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.private import open_private

if TYPE_CHECKING:
    from jinja2 import Environment

_BEGINNING = 1024
_POLICY = b"""content="default-src 'none'; img-src """
"""Start of the Content-Security-Policy of every page, as in page.html."""


@contextmanager
def whole_page(out: Path, kind: str, *, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Open a temporary file for a page and move it to ``out`` at the end. On an error, ``out`` is unchanged.

    A page shows screens, so a new file is private; an existing one keeps its mode. A symbolic link's target is
    replaced. Raises `InvalidUsage` for devices and pipes, or if the file cannot be written. ``kind`` names the page in
    errors.
    """
    place, mode = place_of(out)
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        descriptor = open_private(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "w", encoding=encoding, newline="\n") as page:
            yield page
        if mode is not None:
            part.chmod(mode)
        part.replace(place)
    except OSError as error:
        raise InvalidUsage(f"the {kind} cannot be written to {out}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def place_of(out: Path) -> tuple[Path, int | None]:
    """Return the resolved path of an output file, and the mode of the existing file or ``None``.

    Raises `InvalidUsage` if the path is not a regular file.
    """
    try:
        place = out.resolve()
        found = place.stat().st_mode
    except FileNotFoundError:
        return place, None
    except (OSError, RuntimeError) as error:  # RuntimeError: a symbolic link leads to itself
        raise InvalidUsage(
            f"{out} cannot be written: {getattr(error, 'strerror', 'its symbolic links form a loop')}."
        ) from None
    if not stat.S_ISREG(found):
        raise InvalidUsage(f"{out} is a directory, a device or a pipe and cannot be replaced: give another name.")
    return place, stat.S_IMODE(found)


def is_page(path: Path) -> bool:
    """Return whether a file starts like the pages of this package."""
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    return beginning.startswith(b"<!doctype html>") and _POLICY in beginning


def write_page(page: IO[str], template: str, script: str = "", *, images: str = "data:", **values: Any) -> None:
    """Render a template to ``page``, piece by piece. The page's policy allows only the given script to run.

    ``images`` is the source of pictures in the policy: ``data:``, or ``'self'`` for files next to the page. All values
    are treated as text: they are escaped, and control characters become visible.
    """
    from markupsafe import Markup

    # Only files of this folder are trusted as markup.
    own = {
        "style": Markup(asset("page.css")),
        "script": Markup(asset(script) if script else ""),
        "images": Markup(images),
    }
    pieces = _templates().get_template(template).stream(**values, **own)
    pieces.enable_buffering(200)
    page.writelines(pieces)


def asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return files("holo_tasks.audit.pages").joinpath(name).read_text("utf-8")


@cache
def _templates() -> Environment:
    """Create the Jinja2 environment. Jinja2 is imported here, because most commands write no page."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    templates = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        auto_reload=False,
        keep_trailing_newline=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "clock": clock,
        "count_of": count,
        "duration": duration,
        "hashed": _csp_hash,
        "listed": lambda value: listed(json.dumps(value, ensure_ascii=False)),
        "money": money,
    }
    return templates


def _shown(value: object) -> object:
    return value if hasattr(value, "__html__") else visible(str(value))


def _csp_hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
