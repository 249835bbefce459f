"""Defer or skip imports of large library modules that a command does not use. `defer_large_imports` sets this up."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

BLOCKED = ("httpx._main", "openai._vendor.httpx_aiohttp")
"""Modules that are blocked. Their libraries handle the missing import."""
REEXPORTING = ("openai.types", "openai.types.chat", "openai.types.responses", "openai.types.shared")
"""Packages that only re-export the names of about 400 modules. A conversation needs few of these modules."""


class NotOnlyReexports(Exception):
    """A package's `__init__` does more than re-export names."""


def defer_large_imports() -> None:
    """Make libraries import less. Call it before they are imported.

    It blocks httpx's command line and openai's aiohttp client. It defers most types of openai, which are imported when
    they are first used.
    """
    for name in BLOCKED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    if "openai" not in sys.modules:
        for name in REEXPORTING:
            _import_on_access(name)


def _import_on_access(package: str) -> None:
    """Import the names of a re-exporting package on first access. A package with another form is left unchanged."""
    library, *within = package.split(".")
    found = find_spec(library)
    if found is None or not found.submodule_search_locations:
        return
    init = Path(found.submodule_search_locations[0], *within, "__init__.py")
    try:
        sources = dict(_reexports(init.read_text(encoding="utf-8")))
    except (OSError, SyntaxError, NotOnlyReexports):
        return
    spec = spec_from_file_location(package, init, submodule_search_locations=[str(init.parent)])
    assert spec is not None
    module = module_from_spec(spec)

    def get(name: str) -> Any:
        if name in sources:
            home, defined = sources[name]
            value = getattr(import_module(f"{package}.{home}"), defined)
        elif f"{package}.{name}" in REEXPORTING:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(module, name, value)
        return value

    vars(module).update(__getattr__=get, __all__=list(sources), __dir__=lambda: sorted({*vars(module), *sources}))
    sys.modules[package] = module


def _reexports(source: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each re-exported name, with its module and its name there. Raises `NotOnlyReexports` otherwise."""
    for line in ast.parse(source).body:
        if not isinstance(line, ast.ImportFrom):
            raise NotOnlyReexports
        if line.module == "__future__":
            continue
        if line.level != 1 or line.module is None or any(alias.name == "*" for alias in line.names):
            raise NotOnlyReexports
        for alias in line.names:
            yield alias.asname or alias.name, (line.module, alias.name)
