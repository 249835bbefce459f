"""Publish artifacts in the Prefect UI: Markdown pages, tables, links and progress bars.

Each call is best effort and waits at most ``PATIENCE_S`` seconds, so an unreachable Prefect server does not hold up the
agent. The trace has the same information. Values of secrets are removed first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import httpx
from prefect.artifacts import (
    acreate_link_artifact,
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)
from prefect.context import AsyncClientContext
from prefect.exceptions import PrefectException
from prefect.logging.handlers import APILogHandler

from holo_tasks.safety.scrubbing import scrub_data, scrub_text

PATIENCE_S = 5.0
logger = logging.getLogger("holo_tasks.run.prefect_edge.artifacts")


async def publish_markdown(key: str, markdown: str, description: str) -> UUID | None:
    """Publish a Markdown page on the current flow run; return its id, or ``None`` if that fails or times out."""
    return await _patiently(
        lambda: acreate_markdown_artifact(
            markdown=scrub_text(markdown), key=artifact_key(scrub_text(key)), description=scrub_text(description)
        )
    )


async def publish_table(key: str, rows: Sequence[Mapping[str, Any]], description: str) -> UUID | None:
    """Publish a table on the current flow run; return its id, or ``None`` if that fails or times out."""
    table = [dict(scrub_data(row)) for row in rows]
    return await _patiently(
        lambda: acreate_table_artifact(
            table=table, key=artifact_key(scrub_text(key)), description=scrub_text(description)
        )
    )


async def publish_link(key: str, link: str, description: str) -> UUID | None:
    """Publish a link on the current flow run; return its id, or ``None`` if that fails or times out."""
    return await _patiently(
        lambda: acreate_link_artifact(link=link, link_text=description, key=artifact_key(key), description=description)
    )


async def publish_progress(key: str, percent: float, description: str) -> UUID | None:
    """Publish a progress bar on the current flow run; return its id, or ``None`` if that fails or times out."""
    return await _patiently(
        lambda: acreate_progress_artifact(
            progress=percent, key=artifact_key(scrub_text(key)), description=scrub_text(description)
        )
    )


async def update_progress(artifact: UUID, percent: float, description: str) -> None:
    """Set the percentage and description of a progress bar."""
    text = scrub_text(description)
    await _patiently(lambda: aupdate_progress_artifact(artifact, progress=percent, description=text))


async def flush_logs() -> None:
    """Send log records that are still buffered to Prefect, for at most ``PATIENCE_S`` seconds."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(APILogHandler.aflush(), PATIENCE_S)


async def _patiently(publish: Callable[[], Awaitable[UUID]]) -> UUID | None:
    try:
        return await asyncio.wait_for(_published(publish), PATIENCE_S)
    except (TimeoutError, RuntimeError, httpx.HTTPError, PrefectException) as error:
        logger.warning(
            "Prefect did not take an artifact (%s); the trace has it all.", str(error) or type(error).__name__
        )
        return None


async def _published(publish: Callable[[], Awaitable[UUID]]) -> UUID:
    """Publish an artifact, with another client if the flow run that owns the context's client has ended meanwhile."""
    try:
        return await publish()
    except RuntimeError:
        AsyncClientContext.__var__.set(None)  # type: ignore[arg-type]  # Prefect takes this for no client
        return await publish()


def artifact_key(text: str) -> str:
    """Return a key that Prefect accepts: lower-case letters, digits and dashes, at most 80 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80] or "artifact"
