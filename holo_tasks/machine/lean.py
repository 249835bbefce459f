"""What libraries load and a command never uses: kept out of a process that is ours alone, until it is asked for."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

WITHOUT = ("httpx._main", "openai._vendor.httpx_aiohttp")
"""Modules that libraries do without where they are missing."""
SLUGS = "text_unidecode"
BY_NAME = ("openai.types", "openai.types.chat", "openai.types.responses", "openai.types.shared")
"""Packages that only gather what 400 modules define, of which a conversation uses a few."""


class OtherShape(Exception):
    """A package does more than to gather names."""


def load_less() -> None:
    """Have less loaded by libraries; to be called before any of them is.

    That is what httpx needs for a command line of its own, a client by aiohttp that openai has where that is installed,
    65,000 strings for slugs of what is not ASCII, and most of what a model's endpoint may speak of. Whoever asks for it
    gets it as ever, but for that command line and that client.
    """
    for name in WITHOUT:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    if SLUGS not in sys.modules:
        standing_in = ModuleType(SLUGS)
        standing_in.unidecode = _unidecode  # type: ignore[attr-defined]
        sys.modules[SLUGS] = standing_in
    if "openai" not in sys.modules:
        for name in BY_NAME:
            _load_by_name(name)


def _unidecode(text: str) -> str:
    """Stand where text_unidecode has its function, which leaves ASCII as it is."""
    if text.isascii():
        return text
    if getattr(sys.modules.get(SLUGS), "unidecode", None) is _unidecode:
        del sys.modules[SLUGS]
    plain: str = import_module(SLUGS).unidecode(text)
    return plain


def _load_by_name(package: str) -> None:
    """Have the modules of a package loaded as what they define is asked for; one that does more stays as it is."""
    library, *within = package.split(".")
    found = find_spec(library)
    if found is None or not found.submodule_search_locations:
        return
    init = Path(found.submodule_search_locations[0], *within, "__init__.py")
    try:
        homes = dict(_gathered(init.read_text(encoding="utf-8")))
    except (OSError, SyntaxError, OtherShape):
        return
    spec = spec_from_file_location(package, init, submodule_search_locations=[str(init.parent)])
    assert spec is not None
    module = module_from_spec(spec)

    def get(name: str) -> Any:
        if name in homes:
            home, defined = homes[name]
            value = getattr(import_module(f"{package}.{home}"), defined)
        elif f"{package}.{name}" in BY_NAME:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(module, name, value)
        return value

    vars(module).update(__getattr__=get, __all__=list(homes), __dir__=lambda: sorted({*vars(module), *homes}))
    sys.modules[package] = module


def _gathered(source: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Return the names that a package gathers, each with the module that it is from and what it is called there."""
    for line in ast.parse(source).body:
        if not isinstance(line, ast.ImportFrom):
            raise OtherShape
        if line.module == "__future__":
            continue
        if line.level != 1 or line.module is None or any(alias.name == "*" for alias in line.names):
            raise OtherShape
        for alias in line.names:
            yield alias.asname or alias.name, (line.module, alias.name)
