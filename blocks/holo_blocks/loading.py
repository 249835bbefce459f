"""Load a block by name, with an error a person can act on."""

from __future__ import annotations

from typing import TypeVar, cast

from prefect.blocks.core import Block

from holo_tasks.core.errors import InvalidUsage

B = TypeVar("B", bound=Block)


async def load_block(kind: type[B], name: str) -> B:
    """Load the block of a kind, or raise `InvalidUsage` if there is none of this name."""
    try:
        return cast("B", await kind.aload(name))
    except ValueError as error:
        # Prefect says this, and that a stored block does not fit its class, with the same type.
        raise InvalidUsage(
            f"The {kind.get_block_type_slug()} block {name!r} cannot be loaded ({str(error).splitlines()[0]}); "
            "fill it in under Blocks in the Prefect UI."
        ) from None
