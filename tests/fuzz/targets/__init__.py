"""Fuzz targets by area. A module is imported when one of its targets is requested."""

from __future__ import annotations

from importlib import import_module

from tests.fuzz.target import Target

MODULES = {
    "office": ("letter", "pdf", "imap", "workbook", "said"),
    "models": ("replies", "answers", "client"),
    "evidence": ("trace", "told", "heads", "segments", "picture", "spool", "pem"),
    "settings": ("playbook", "rules", "redaction", "profiles"),
    "wires": ("rfb", "site", "door", "kills", "wire"),
    "people": ("arguments", "handoff", "variable", "scrubber", "masking"),
    "planted": ("raises", "sleeps", "computes", "deaf", "hoards", "keeps", "dies", "fine"),
}
"""Target names by module. The planted ones have defects that the harness must find."""


def names_in(module: str) -> tuple[str, ...]:
    """Return the targets of a module. Planted targets are excluded: they run by name only."""
    return () if module == "planted" else MODULES[module]


def target_of(name: str) -> Target:
    """Return a target by its name."""
    module = next(module for module, names in MODULES.items() if name in names)
    found = {target.name: target for target in import_module(f"tests.fuzz.targets.{module}").TARGETS}
    return found[name]
