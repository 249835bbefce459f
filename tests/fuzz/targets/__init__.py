"""What is fuzzed, by what it belongs to. Modules are imported when one of their targets is asked for."""

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
"""The names of targets, by module. Planted ones are defects that have to be found."""


def names_in(module: str) -> tuple[str, ...]:
    """Return the targets of a module, none for planted ones: they are asked for by name only."""
    return () if module == "planted" else MODULES[module]


def target_of(name: str) -> Target:
    """Return a target by its name."""
    module = next(module for module, names in MODULES.items() if name in names)
    found = {target.name: target for target in import_module(f"tests.fuzz.targets.{module}").TARGETS}
    return found[name]
