"""What the pages of this package have in common: one file, nothing from elsewhere, only their own style and script."""

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

from holo_tasks.audit.pages.formatting import clock, count, duration, money, visible
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.private import open_private

if TYPE_CHECKING:
    from jinja2 import Environment

_BEGINNING = 1024
_POLICY = b"""content="default-src 'none'; img-src data:;"""
"""What the policy of every page begins with, in page.html."""


@contextmanager
def whole_page(out: Path, what: str, *, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Give a file to write a page into; it is put in its place whole, or not at all.

    It shows what was on a screen, so a new one is for this user alone; one that is there keeps its mode.
    Where a link leads elsewhere the file there is replaced; a device or a pipe is refused.
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
        raise InvalidUsage(f"the {what} cannot be written to {out}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def place_of(out: Path) -> tuple[Path, int | None]:
    """Return where a file is really put, and the mode of the one that is there; raise `InvalidUsage` for what is no
    regular file."""
    try:
        place = out.resolve()
        found = place.stat().st_mode
    except FileNotFoundError:
        return place, None
    except (OSError, RuntimeError) as error:  # a link that leads to itself is the latter
        raise InvalidUsage(f"{out} cannot be written: {getattr(error, 'strerror', 'its links go round')}.") from None
    if not stat.S_ISREG(found):
        raise InvalidUsage(f"{out} is a directory, a device or a pipe, no file to be replaced: give another name.")
    return place, stat.S_IMODE(found)


def is_page(path: Path) -> bool:
    """Say whether a file is a page of this package's: it begins as all of them do."""
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    return beginning.startswith(b"<!doctype html>") and _POLICY in beginning


def write_page(page: IO[str], template: str, script: str, **values: Any) -> None:
    """Write a page as its template makes it, piece by piece; the page's policy lets nothing run but this very script.

    Whatever a template is given is text: it is escaped, and its control characters become visible.
    """
    from markupsafe import Markup

    # Only what lies beside this file is markup by itself.
    own = {"style": Markup(asset("page.css")), "script": Markup(asset(script))}
    pieces = _templates().get_template(template).stream(**values, **own)
    pieces.enable_buffering(200)
    page.writelines(pieces)


def asset(name: str) -> str:
    """Return a file that lies beside this one."""
    return files("holo_tasks.audit.pages").joinpath(name).read_text("utf-8")


@cache
def _templates() -> Environment:
    """Jinja2 is loaded with the first page: most commands write none."""
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
        "as_json": lambda value: json.dumps(value, ensure_ascii=False),
        "clock": clock,
        "count_of": count,
        "duration": duration,
        "hashed": _csp_hash,
        "money": money,
    }
    return templates


def _shown(value: object) -> object:
    return value if hasattr(value, "__html__") else visible(str(value))


def _csp_hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
