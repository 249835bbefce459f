"""The cells of a table that has too many of them to be told: those that show and hold something.

A sheet of LibreOffice has billions of cells, and none of them is among its children; neither are those of a list of
GTK 3. The program is asked what is in the table's corners, and then for each cell between them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import islice, product
from typing import Any, TypeAlias

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.connection import Connection, NoAnswer
from holo_tasks.accessibility.placement import sound

MOST_CELLS = 1_500
"""So many cells of one table are asked for, the upper rows first."""
INSIDE = 2
"""Pixels from a table's corner to where the cell in it is asked for."""
HEADERS = 80
"""Pixels: so far down the first row is looked for below the headers of columns, which are no cells."""
LINE = 8
MOST_PARTS = 10
"""So many parts of one cell are asked for."""

All: TypeAlias = Callable[..., Awaitable[list[Any]]]
"""Asks many things at once, a few at a time; None stands for what is not answered."""


async def filled_cells(connection: Connection, name: str, path: str, every: All) -> list[str] | None:
    """Return the paths of the cells of a program's table that show and hold a text, row by row.

    None stands for a table that does not say which of its cells show.
    """
    try:
        corners = await _corners(connection, name, path)
    except NoAnswer:
        return None
    if corners is None:
        return None
    (top, left), (bottom, right) = corners
    places = islice(product(range(top, bottom + 1), range(left, right + 1)), MOST_CELLS)
    asked = (partial(_cell, connection, name, path, *place) for place in places)
    return [cell for cell in await every(*asked) if cell]


async def _corners(connection: Connection, name: str, path: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return row and column of the first and of the last cell that shows; None if nothing says so."""
    where = protocol.COMPONENT, "GetExtents", "(iiii)", protocol.ON_SCREEN
    extents = await connection.value(name, path, *where)
    left, top, width, height = extents
    if not sound(extents) or min(width, height) <= 2 * INSIDE:
        return None
    for below in range(INSIDE, min(HEADERS, height), LINE):
        if (first := await _place_of(connection, name, path, left + INSIDE, top + below)) is not None:
            break
    last = await _place_of(connection, name, path, left + width - INSIDE, top + height - INSIDE)
    if first is None:
        return None
    if last is None:  # the table ends above the end of its area
        rows, columns = [
            await connection.property(name, path, protocol.TABLE, each, "i") for each in ("NRows", "NColumns")
        ]
        last = rows - 1, columns - 1
    return first, (min(last[0], first[0] + MOST_CELLS), min(last[1], first[1] + MOST_CELLS))


async def _place_of(connection: Connection, name: str, path: str, x: int, y: int) -> tuple[int, int] | None:
    """Return row and column of the cell at a point, as the program tells; None if it tells of none there."""
    at: Sequence[Any] = (x, y, protocol.ON_SCREEN)
    signature, body = await connection.ask(name, path, protocol.COMPONENT, "GetAccessibleAtPoint", "iiu", at)
    if signature != "(so)" or body[0][1] in (protocol.NULL, path):
        return None
    index = await connection.value(name, body[0][1], protocol.ACCESSIBLE, "GetIndexInParent", "i")
    row, column = [
        await connection.value(name, path, protocol.TABLE, member, "i", index)
        for member in ("GetRowAtIndex", "GetColumnAtIndex")
    ]
    return (row, column) if row >= 0 and column >= 0 else None


async def _cell(connection: Connection, name: str, path: str, row: int, column: int) -> str:
    """Return the path of a cell that holds a text, or of the part of it that does; empty if none does.

    A cell of GTK 3 that shows a picture and a text holds neither by itself: both are parts of it.
    """
    its_name, cell = await connection.value(name, path, protocol.TABLE, "GetAccessibleAt", "(so)", row, column)
    if its_name != name or cell == protocol.NULL:
        return ""
    if (text := await _text(connection, name, cell)) is not None:
        return str(cell) if text else ""
    parts = await connection.value(name, cell, protocol.ACCESSIBLE, "GetChildren", "a(so)")
    for its_name, part in parts[:MOST_PARTS]:
        if its_name == name and await _text(connection, name, part):
            return str(part)
    return ""


async def _text(connection: Connection, name: str, path: str) -> str | None:
    """Return how a cell's text begins; None if it is not one that holds a text."""
    try:
        return str(await connection.value(name, path, protocol.TEXT, "GetText", "s", 0, 1))
    except NoAnswer:
        return None
