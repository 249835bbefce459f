"""Resolve file names in flow parameters to files in one folder.

Users with the permission to start a flow run often have no account on the machine that executes it. A path in a
parameter would let them write any file there. So a parameter takes a plain name, and the file lies in the folder of
``HOLO_REPORTS``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from holo_tasks.audit.pages.page import is_page
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.paths import expanded
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.private import make_private, private_folder

FOLDER = "HOLO_REPORTS"
"""Environment variable that names the folder, read in the process that executes the flow."""
_MOST_BYTES = 150


def reports_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of ``HOLO_REPORTS``, or ``reports`` under ``HOLO_HOME``. It is created if missing.

    Raises `InvalidUsage` if it cannot be created.
    """
    env = os.environ if environ is None else environ
    chosen = env.get(FOLDER, "")
    try:
        if not chosen:
            return private_folder(holo_home(env), "reports")
        folder = expanded(chosen).absolute()
        make_private(folder)
    except OSError as error:
        raise InvalidUsage(
            f"The folder for reports cannot be made ({error.strerror}): let {FOLDER} name another one."
        ) from None
    return folder


def named_file(name: str, ending: str, *others: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of a file in the folder of reports, which may not exist yet, by its name in a parameter.

    The name needs one of the endings, such as ``.xlsx``. Raises `InvalidUsage` for a path, for a link that leads
    elsewhere, and for an HTML file that is not a report of this library, because a report would replace it.
    """
    endings = (ending, *others)
    shown = name if len(name) <= _MOST_BYTES else f"{name[:_MOST_BYTES]}…"
    if not _is_name(name) or not name.casefold().endswith(endings):
        raise InvalidUsage(
            f"{shown!r} is not a file's name: give one without a folder that ends in {' or '.join(endings)}, such as "
            f"‘audit{ending}’; it goes into the folder that {FOLDER} names where the flow runs."
        )
    folder = reports_folder(environ)
    place = folder / name
    try:
        if place.resolve().parent != folder.resolve():
            raise InvalidUsage(f"{place} is a link that leads elsewhere: give another name.")
        if place.exists() and not place.is_file():
            raise InvalidUsage(f"{place} is there and is not a file: give another name.")
    except (OSError, RuntimeError):  # resolve() raises RuntimeError for a loop of links
        raise InvalidUsage(f"{place} cannot be used: give another name.") from None
    if place.suffix.casefold() == ".html" and place.exists() and not is_page(place):
        raise InvalidUsage(f"{place} exists and is not a report: give another name; it is not replaced.")
    return place


def _is_name(name: str) -> bool:
    """Return whether ``name`` is a plain file name: printable, without separators, not hidden, at most 150 bytes."""
    plain = name.isprintable() and name == name.strip() and not set(name) & set("/\\:")
    return plain and not name.startswith((".", "~", "-")) and len(name.encode(errors="replace")) <= _MOST_BYTES
