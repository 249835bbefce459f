"""`holo-tasks index` and `holo-tasks export`: an overview or a CSV table of many runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

from holo_tasks.audit.csv_export import write_runs, write_steps
from holo_tasks.audit.errors import DamagedTrace, StoreTrouble
from holo_tasks.audit.many_runs import ReadTrace, read_traces
from holo_tasks.audit.pages.index import as_json, row_of, write_index
from holo_tasks.audit.pages.page import place_of, whole_page
from holo_tasks.audit.pages.report import Place, write_report
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.paths import is_folder
from holo_tasks.kill.run_registry import running
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.private import make_private


def index(
    where: str | None, out: Path | None, *, as_object: bool, reports: Place | None, put: Callable[[str, int], int]
) -> int:
    """Read all traces and write the page, one JSON object, or both. Return the exit code.

    ``reports`` is the place of the pictures of each run's report, or ``None`` if no report is written.
    """
    place = _place(where)
    if out is None and not as_object:
        raise InvalidUsage("Give --out FILE.html for the page, --json for the numbers, or both.")
    if reports and out is None:
        raise InvalidUsage("--reports writes the reports next to the page: add --out FILE.html.")
    if out is not None:
        _check_file(out)
    alive = _alive()
    rows = [
        row_of(run, alive=alive, report=_report(run, out, reports) if reports and out else "")
        for run in read_traces(place)
    ]
    if not rows:
        raise InvalidUsage(f"There is no trace below {place}: give the folder or the prefix that runs are kept in.")
    if out is not None:
        write_index(rows, out, where=place)
    return put(json.dumps(as_json(rows), ensure_ascii=False) if as_object else str(out), 0)


def export(where: str | None, csv: str, *, steps: bool, put: Callable[[str, int], int]) -> int:
    """Write runs or steps as CSV to a file, atomically, or to stdout (``-``). Return the exit code."""
    runs = _some(read_traces(_place(where)), _place(where))
    rows = write_steps if steps else partial(write_runs, alive=_alive())
    if csv == "-":
        if sys.__stdout__ is None:
            raise InvalidUsage("The rows cannot be written to stdout: it is closed.")
        try:
            sys.stdout.reconfigure(newline="")  # type: ignore[union-attr]  # line ends of RFC 4180
            rows(runs, sys.stdout)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has closed the pipe
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise InvalidUsage(f"The rows cannot be written to stdout: {error.strerror}.") from None
        return 0
    _check_file(Path(csv))
    with whole_page(Path(csv), "table", encoding="utf-8-sig") as file:
        rows(runs, file)
    return put(csv, 0)


def _place(where: str | None) -> str:
    return where if where is not None else str(holo_home() / "runs")


def _some(runs: Iterator[ReadTrace], place: str) -> Iterator[ReadTrace]:
    """Return the runs. Raises `InvalidUsage` at once if no run was found."""
    first = next(runs, None)
    if first is None:
        raise InvalidUsage(f"There is no trace below {place}: give the folder or the prefix that runs are kept in.")

    def all_of_them() -> Iterator[ReadTrace]:
        yield first
        yield from runs

    return all_of_them()


def _check_file(out: Path) -> None:
    if not out.name or is_folder(out):
        raise InvalidUsage(f"{str(out)!r} is not a file's name.")
    if not is_folder(out.absolute().parent):
        raise InvalidUsage(f"{out} cannot be written: the folder {out.parent} does not exist.")
    place_of(out)


def _alive() -> frozenset[str]:
    return frozenset(run.run_id for run in running(holo_home()))


def _report(run: ReadTrace, out: Path, pictures: Place) -> str:
    """Write the run's report next to the page. Return its relative URL, or an empty text if the trace is unreadable."""
    if run.trace is None:
        return ""
    folder = out.with_name(f"{out.stem}-reports")
    try:
        make_private(folder)
    except OSError as error:
        raise InvalidUsage(f"The reports cannot be written to {folder}: {error.strerror}.") from None
    # Folders of runs may have any name, and two folders may have the same name.
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", run.run_id)[:80].strip("-") or "run"
    name = f"{plain}-{hashlib.sha256(os.fsencode(run.uri)).hexdigest()[:8]}.html"
    try:
        write_report(run.trace, folder / name, pictures=pictures)
    except (DamagedTrace, StoreTrouble, OSError):  # the trace; a page that cannot be written raises `InvalidUsage`
        return ""
    return f"{quote(os.fsencode(folder.name))}/{name}"
