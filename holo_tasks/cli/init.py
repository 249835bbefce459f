"""`holo-tasks init`: write a project that runs at once, from a template in the package."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import tempfile
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.visible_text import shell_word
from holo_tasks.desktop.system_packages import missing_packages
from holo_tasks.machine.output import put, say

STARTERS = Path(__file__).parents[1] / "starters"
EVERY = "every"
"""Folder of the files that every template has."""
FLOWS = {"form": "enter_orders", "list": "count_stock", "mailbox": "audit_receipts"}
"""The flow of each template."""
EXTRAS = {"office": ("selectolax", "webencodings"), "rehearsal": ("rapidocr", "onnxruntime", "yaml")}
"""The extras that templates need, with the modules that show whether an extra is installed."""
_LONGEST_NAME = 60


def init(name: str, template: str) -> int:
    """Write a project and print its folder. Raises `InvalidUsage` if the folder exists."""
    folder = Path(name).absolute()
    if os.path.lexists(folder):  # false for a name that is too long
        raise InvalidUsage(f"{folder} exists, and nothing in it is overwritten: give another NAME.")
    write_project(folder, template)
    say(f"wrote the project {folder.name} from the template {template}; its README.md says how to test and deploy it")
    say("run it:", f" cd {shell_word(name)} && python flow.py")
    if missing := missing_packages(tk=True):
        say(f"before it runs, install as root: apt-get install --no-install-recommends {' '.join(missing)}")
    if extras := missing_extras(template):
        say(f"before it runs, run {extras}")
    return put(str(folder), 0)


def missing_extras(template: str) -> str:
    """Return the command that installs the missing extras of a template. Empty if none is missing."""
    needed = EXTRAS if template == "mailbox" else {"rehearsal": EXTRAS["rehearsal"]}
    missing = [extra for extra, modules in needed.items() if not all(map(importlib.util.find_spec, modules))]
    return f"`pip install 'prefect-holo[{','.join(missing)}]'`" if missing else ""


def write_project(folder: Path, template: str) -> None:
    """Write the files of a template into a new folder. The folder appears complete or not at all."""
    name = folder.name
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > _LONGEST_NAME:
        raise InvalidUsage(
            f"{name!r} cannot name a project, because Prefect's blocks get the same name: use small letters, digits "
            f"and single hyphens, such as {_possible_name(name)}."
        )
    try:
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as draft:
            project = Path(draft) / name
            for source in (EVERY, template):
                skip = shutil.ignore_patterns("__pycache__")
                shutil.copytree(STARTERS / source, project, dirs_exist_ok=True, ignore=skip)
            _fill_in(project, FLOWS[template])
            project.rename(folder)
    except OSError as error:
        raise InvalidUsage(f"{folder} cannot be written ({error.strerror}): give a NAME in another folder.") from None


def _fill_in(project: Path, flow: str) -> None:
    """Replace the placeholders in the files of a template."""
    about = ast.get_docstring(ast.parse((project / "flow.py").read_text(encoding="utf-8"))) or ""
    deployment = f"{flow.replace('_', '-')}/every-morning"
    values = {"STARTER": project.name, "FLOW": flow, "ABOUT": about, "DEPLOYMENT": deployment}
    for file in filter(Path.is_file, project.rglob("*")):
        text = re.sub(r"\b(STARTER|FLOW|ABOUT|DEPLOYMENT)\b", lambda found: values[found[0]], file.read_text("utf-8"))
        file.write_text(text, encoding="utf-8")


def _possible_name(name: str) -> str:
    """Return a valid name that is like ``name``."""
    return "-".join(re.findall(r"[a-z0-9]+", name.casefold()))[:_LONGEST_NAME].strip("-") or "my-project"
