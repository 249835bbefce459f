"""`holo-tasks demo`: audit three receipts on this machine, with a rehearsal model in place of a language model.

The demo writes the template `mailbox` as a project and runs its flow in this process. All state stays in that folder.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from holo_tasks.cli.init import missing_extras, write_project
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.system_packages import require_packages
from holo_tasks.machine.output import put, say

TEMPLATE = "mailbox"
MARK = ".holo-demo"
"""File that marks the folder of a demo. Only in such a folder the demo runs again."""
MODEL_VARIABLES = ("HAI_API_KEY", "HOLO_API_KEY", "HOLO_BASE_URL", "HOLO_MODEL", "HOLO_PROFILES")
"""Variables of a real model. The demo never uses one, since its calls cost money."""
PREFECT_VARIABLES = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING", "PREFECT_PROFILE")
"""Variables of a Prefect server of the user. The demo has a server of its own."""


def demo(folder: Path, *, opens: bool) -> int:
    """Run the demo in a folder, print the place of the report, and return the exit code."""
    began_s = time.monotonic()
    folder = folder.absolute()
    again = _is_demo(folder)
    _check_machine()
    _prepare(folder, again=again)
    with _own_environment(folder):
        say("starting a Prefect server and a rehearsal model, which end with this command")
        say("the agent will work on a virtual desktop; each line is an action that it takes there")
        runpy.run_path(str(folder / "flow.py"), run_name="__main__")
        page = _write_overview(folder)
    report = folder / "report.html"
    say(f"done in {time.monotonic() - began_s:.0f} s; nothing is left running")
    if again:
        say("receipts that an earlier demo in this folder finished were not worked on again")
    say("the model calls cost nothing; the report shows the price of the same calls with Holo")
    say("every step with its pictures:", f" {report.as_uri()}")
    say("all runs:", f" {page.as_uri()}")
    say(f"the project of this demo is in {folder}: read its README.md, change it, or delete the folder")
    say("next: `holo-tasks init my-project` writes a project of your own")
    if opens:
        import webbrowser

        if not webbrowser.open(report.as_uri()):
            say("no browser could be opened; open the report yourself")
    return put(str(report), 0)


def _check_machine() -> None:
    """Raise an error that names everything that the demo needs and that is not installed."""
    require_packages(tk=True)
    if extras := missing_extras(TEMPLATE):
        raise InvalidUsage(
            f"The demo reads letters, and the screen with OCR. Packages for that are not installed: run {extras}."
        )
    say("this machine has all that the demo needs: an X server, a window manager, fonts, Tk and OCR")


def _is_demo(folder: Path) -> bool:
    """Return whether an earlier demo wrote the folder. Raises `InvalidUsage` if it exists and has other contents."""
    if os.path.isfile(folder / MARK):  # noqa: PTH113  false for a name that is too long
        return True
    if os.path.lexists(folder):
        raise InvalidUsage(
            f"{folder} exists and is not the folder of a demo; it is not overwritten: give another --folder."
        )
    return False


def _prepare(folder: Path, *, again: bool) -> None:
    """Write the project, unless an earlier demo wrote it."""
    if again:
        say(f"running again in {folder}, which an earlier demo wrote")
        return
    say(f"writing the demo's project into {folder}: a desktop program, a mailbox with three receipts, and a flow")
    write_project(folder, TEMPLATE)
    (folder / MARK).touch()


@contextlib.contextmanager
def _own_environment(folder: Path) -> Iterator[None]:
    """Set the environment of the demo: its state in its folder, no model and no Prefect server of the user."""
    for name in (*MODEL_VARIABLES, *PREFECT_VARIABLES):
        os.environ.pop(name, None)
    os.environ.update(
        HOLO_HOME=str(folder / "holo"),
        HOLO_REPORTS=str(folder),
        PREFECT_HOME=str(folder / "prefect"),
        # The demo prints each action itself.
        PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="ERROR",
        PREFECT_SERVER_ANALYTICS_ENABLED="0",
        DO_NOT_TRACK="1",
    )
    back = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        os.chdir(back)


def _write_overview(folder: Path) -> Path:
    """Write the page of all runs in the folder, with a report of each."""
    from holo_tasks.cli.index import index

    page = folder / "runs.html"
    index(str(folder / "evidence"), page, as_object=False, reports="inside", put=lambda text, code: code)
    return page
