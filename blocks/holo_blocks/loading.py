"""Load a block by name, with an error a person can act on."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TypeVar, cast

import httpx
from prefect.blocks.core import Block

from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.machine.patience import awaited, is_away
from holo_tasks.run.log_filter import one_line_errors

B = TypeVar("B", bound=Block)


ALLOWED = "HOLO_BLOCKS"
"""The variable that names the only blocks which flows of a process may load: whoever starts a run chooses by name."""
_NAME = re.compile(r"[a-z0-9-]{1,200}")


async def load_block(kind: type[B], name: str, *, environ: Mapping[str, str] | None = None) -> B:
    """Load the block of a kind, or raise `InvalidUsage` if there is none of this name, or none that may be loaded."""
    one_line_errors()
    slug = kind.get_block_type_slug()
    if not _NAME.fullmatch(name):
        # What is no name in Prefect would become a part of an address of its API.
        raise InvalidUsage(
            f"{name[:80]!r} is not the name of a {slug} block: give one of those under Blocks in the Prefect UI."
        )
    allowed = (os.environ if environ is None else environ).get(ALLOWED)
    if allowed is not None and name not in re.split(r"[\s,]+", allowed):
        raise InvalidUsage(
            f"The {slug} block {name!r} is not among those that flows may use here: give another, or have it added to "
            f"{ALLOWED} where the flow runs."
        )
    return await awaited(lambda: _loaded(kind, slug, name))


async def _loaded(kind: type[B], slug: str, name: str) -> B:
    try:
        return cast("B", await kind.aload(name))
    except (httpx.HTTPError, RuntimeError) as error:
        if not is_away(error):
            raise
        why = first_line(error)
        raise Unavailable(
            f"Prefect's server does not give the {slug} block {name!r} ({why}); try again later."
        ) from None
    except ValueError as error:
        # Prefect says this, and that a stored block does not fit its class, with the same type.
        raise InvalidUsage(
            f"The {slug} block {name!r} cannot be loaded ({first_line(error)}); "
            "fill it in under Blocks in the Prefect UI, after `prefect block register -m holo_blocks`."
        ) from None
