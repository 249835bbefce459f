"""Say which extra of this package to install if a package that one feature needs is missing."""

from __future__ import annotations

import importlib.util

from holo_tasks.core.errors import InvalidUsage


def require_extra(extra: str, package: str, use: str, module: str = "") -> None:
    """Raise `InvalidUsage` if a package is not installed.

    ``use`` is the beginning of the sentence: what needs the package. ``module`` is its import name, if that differs.
    """
    if importlib.util.find_spec(module or package) is None:
        raise missing_extra(extra, package, use)


def missing_extra(extra: str, package: str, use: str) -> InvalidUsage:
    """Return the error for a package that is not installed."""
    return InvalidUsage(f"{use} needs {package}: run pip install 'prefect-holo[{extra}]'.")
