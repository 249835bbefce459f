"""Who measures a run: somebody, if OTEL_* variables name a collector and the extra `otel` is installed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.telemetry.wanted import EXTRA, wanted_by
from holo_tasks.telemetry.watch import UNWATCHED, Watch

logger = logging.getLogger("holo_tasks")


def watch_for(environ: Mapping[str, str], *, local_only: bool) -> Watch:
    """Return who measures a run; without a collector that is nobody, and nothing is loaded for it.

    Raises `InvalidUsage` in local-only mode if it would be told elsewhere. What else is wrong with it is logged, once,
    and the run goes on unmeasured.
    """
    wanted = wanted_by(environ, local_only=local_only)
    if not wanted:
        return UNWATCHED
    try:
        from holo_tasks.telemetry.providers import providers
        from holo_tasks.telemetry.run_spans import RunSpans

        return RunSpans(*providers(wanted))
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        _warn(f"OTEL_… variables name a collector, and nothing is sent there: pip install '{EXTRA}'.")
    except InvalidUsage as error:
        _warn(f"Nothing is sent to a collector: {error}")
    return UNWATCHED


@cache
def _warn(words: str) -> None:
    logger.warning("%s", words)
