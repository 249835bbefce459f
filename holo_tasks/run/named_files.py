"""The files that whoever starts a flow run may have written: a name in one folder, and nothing else.

A parameter of a deployment is filled in by people and machines that may start a run but have no account on the machine
that works on it. A path of theirs would be a way to write any file there.
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
"""The variable that names the folder, in the environment of the process that works on a flow."""
_MOST_BYTES = 150


def reports_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder that ``HOLO_REPORTS`` names, or ``reports`` under ``HOLO_HOME``; it is made if need be."""
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


def page_named(name: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return where a page of this name goes; raise `InvalidUsage` for a file that is there and is no page of ours."""
    place = _place(name, ".html", environ)
    if place.exists() and not is_page(place):
        raise InvalidUsage(f"{place} is there and is no report: give another name; it is not replaced.")
    return place


def workbook_named(name: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return where a workbook of this name is, or will be; whose it is shows once it is opened."""
    return _place(name, ".xlsx", environ)


def table_named(name: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return where a table of this name is: a CSV file or a workbook."""
    return _place(name, ".xlsx" if name.casefold().endswith(".xlsx") else ".csv", environ)


def playbook_named(name: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return where a playbook of this name is."""
    return _place(name, ".yaml", environ)


def _place(name: str, ending: str, environ: Mapping[str, str] | None) -> Path:
    shown = name if len(name) <= _MOST_BYTES else f"{name[:_MOST_BYTES]}…"
    if not _is_name(name) or not name.casefold().endswith(ending):
        raise InvalidUsage(
            f"{shown!r} is not a file's name: give one without a folder that ends in {ending}, such as "
            f"‘audit{ending}’; it goes into the folder that {FOLDER} names where the flow runs."
        )
    folder = reports_folder(environ)
    place = folder / name
    try:
        if place.resolve().parent != folder.resolve():
            raise InvalidUsage(f"{place} is a link that leads elsewhere: give another name.")
        if place.exists() and not place.is_file():
            raise InvalidUsage(f"{place} is there and is not a file: give another name.")
    except (OSError, RuntimeError):  # links that go round are the latter
        raise InvalidUsage(f"{place} cannot be used: give another name.") from None
    return place


def _is_name(name: str) -> bool:
    """Whether this is the name of a file in a folder, and one that shows as what it is."""
    plain = name.isprintable() and name == name.strip() and not set(name) & set("/\\:")
    return plain and not name.startswith((".", "~", "-")) and len(name.encode(errors="replace")) <= _MOST_BYTES
