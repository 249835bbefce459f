"""A Python in which only those packages can be imported that `pip install prefect-holo` brings, without any extra.

Run as a program with Python source as its argument, it executes that source in such a Python.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
SHARED = {"opentelemetry.sdk", "opentelemetry.exporter"}
"""Packages of extras in a namespace that a package of the core also has."""


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(package: str, extras: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the packages that a package requires, each with the extras that it asks for."""
    try:
        lines = requires(package) or ()
    except PackageNotFoundError:  # another platform's
        return
    yield from wanted_by(lines, extras)


def wanted_by(lines: Iterable[str], extras: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    for line in lines:
        wanted = Requirement(line)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield plain(wanted.name), frozenset(wanted.extras)


def core() -> set[str]:
    """Return all packages that come without an extra."""
    found: set[tuple[str, frozenset[str]]] = set()
    todo = list(wanted_by(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]))
    while todo:
        if (one := todo.pop()) not in found:
            found.add(one)
            todo += required(*one)
    return {"prefect-holo", *(name for name, _ in found)}


def modules_of_extras() -> set[str]:
    """Return the top-level modules that no package of the core has."""
    known = core()
    return SHARED | {
        module
        for module, packages in packages_distributions().items()
        if not known & {plain(one) for one in packages} and not module.startswith("_")
    }


def main() -> None:
    for name in modules_of_extras():
        sys.modules[name] = None  # type: ignore[assignment]
    exec(compile(sys.argv[1], "<argument>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main()
