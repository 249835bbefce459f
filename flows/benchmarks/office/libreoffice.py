"""The command that starts LibreOffice, and its question when it saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.office.trial import click
from holo_tasks.core.elements.elements import ElementTree

QUIETLY = ("--norestore", "--nologo", "--nofirststartwizard")


def started(work: Path, *words: str) -> list[str]:
    """Return the command that starts it, with a profile next to an item's folder."""
    return ["soffice", *QUIETLY, f"-env:UserInstallation=file://{work.parent}/profile", *words]


def keeps_format(tree: ElementTree) -> dict[str, Any] | None:
    """Return the click that keeps a file's format, if the program asks about it."""
    buttons = [each for each in tree.find("button") if each.name.startswith("Use ") and "ormat" in each.name]
    found = [each for each in buttons if "ODF" not in each.name]
    return click(found[0].box.center, found[0].name) if found else None
