"""Load a saved block by its name, with errors that say what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TypeVar, cast

import httpx
from prefect.blocks.core import Block

from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.machine.patience import is_away, retry_async_while_unavailable
from holo_tasks.run.prefect_edge.log_filter import one_line_errors

B = TypeVar("B", bound=Block)


ALLOWED = "HOLO_BLOCKS"
"""Environment variable with the names of the blocks that flows of this process may load. Unset means all."""
_NAME = re.compile(r"[a-z0-9-]{1,200}")


async def load_block(kind: type[B], name: str, *, environ: Mapping[str, str] | None = None) -> B:
    """Return a saved block.

    Raises `InvalidUsage` if no such block exists, or flows of this process may not load it. Raises `Unavailable` if
    Prefect's server does not answer.
    """
    one_line_errors()
    slug = kind.get_block_type_slug()
    if not _NAME.fullmatch(name):
        # The name becomes a part of a URL of Prefect's API, so invalid names are refused.
        raise InvalidUsage(
            f"{name[:80]!r} is not the name of a {slug} block: give a name that is listed under Blocks in the Prefect "
            "UI."
        )
    allowed = (os.environ if environ is None else environ).get(ALLOWED)
    if allowed is not None and name not in re.split(r"[\s,]+", allowed):
        raise InvalidUsage(
            f"Flows here may not use the {slug} block {name!r}: give another one, or add it to {ALLOWED} where the "
            "flow runs."
        )
    return await retry_async_while_unavailable(lambda: _loaded(kind, slug, name))


async def _loaded(kind: type[B], slug: str, name: str) -> B:
    try:
        return cast("B", await kind.aload(name))
    except (httpx.HTTPError, RuntimeError) as error:
        if not is_away(error):
            raise
        why = first_line(error)
        raise Unavailable(
            f"Prefect's server did not return the {slug} block {name!r} ({why}). Try again later."
        ) from None
    except ValueError as error:
        # Prefect also raises ValueError for a stored block that does not fit its class.
        raise InvalidUsage(
            f"The {slug} block {name!r} cannot be loaded ({first_line(error)}). Run `prefect block register -m "
            "holo_blocks`, then create it under Blocks in the Prefect UI."
        ) from None
