"""Find the visible cells with contents of a table that does not list its cells.

A sheet of LibreOffice has billions of cells, and none is among its children. Neither are the cells of a list in GTK 3.
The program is asked for the cells in the table's corners, and then for each cell between them. `filled_cells` is the
main function; `application` calls it. In a sheet it also finds the empty cells that a person fills in next: those
between filled cells, and those of the row below the last filled one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from typing import Any, TypeAlias

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.connection import Connection, NoAnswer
from holo_tasks.accessibility.placement import Extents, are_plausible

MOST_CELLS = 1_500
"""Most cells of one table that are read, the upper rows first."""
INSIDE = 2
"""Pixels from a table's corner to the point where its cell is looked up."""
HEADERS = 80
"""Height in pixels in which the first row is searched, below the headers of columns, which are not cells."""
LINE = 8
MOST_PARTS = 10
"""Most parts of one cell that are read."""

All: TypeAlias = Callable[..., Awaitable[list[Any]]]
"""Calls functions, a few at a time, and returns their results; ``None`` is a missing answer."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell with its place in the table."""

    path: str
    row: int
    column: int
    is_filled: bool


async def filled_cells(
    connection: Connection,
    name: str,
    path: str,
    every: All,
    visible: Extents | None = None,
    *,
    is_sheet: bool = False,
) -> list[str] | None:
    """Return the paths of the visible cells of a table that hold a text, row by row.

    ``visible`` holds the extents of the table's visible part; ``None`` means the whole table. Of a sheet
    (``is_sheet``) the empty cells of the filled part and of the row below it are returned as well. Returns ``None`` if
    the table does not report which cells are visible.
    """
    try:
        corners = await _corners(connection, name, path, visible)
    except NoAnswer:
        return None
    if corners is None:
        return None
    (top, left), (bottom, right) = corners
    places = islice(product(range(top, bottom + 1), range(left, right + 1)), MOST_CELLS)
    asked = (partial(_cell, connection, name, path, *place) for place in places)
    cells = [cell for cell in await every(*asked) if cell is not None]
    filled = [cell for cell in cells if cell.is_filled]
    if not is_sheet or not filled:
        return [cell.path for cell in filled]
    last_row = max(cell.row for cell in filled) + 1
    first, last = min(cell.column for cell in filled), max(cell.column for cell in filled)
    return [cell.path for cell in cells if cell.row <= last_row and first <= cell.column <= last]


async def _corners(
    connection: Connection, name: str, path: str, visible: Extents | None
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return row and column of the first and of the last visible cell; ``None`` if they are unknown."""
    where = protocol.COMPONENT, "GetExtents", "(iiii)", protocol.ON_SCREEN
    extents = visible or await connection.value(name, path, *where)
    left, top, width, height = extents
    if not are_plausible(extents) or min(width, height) <= 2 * INSIDE:
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
    """Return row and column of the cell at a point of the screen; ``None`` if the program finds no cell there."""
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


async def _cell(connection: Connection, name: str, path: str, row: int, column: int) -> _Cell | None:
    """Return a cell, or its part that holds a text. Returns ``None`` for a place without a cell or a text.

    In GTK 3 the picture and the text of a cell are separate children of the cell. In Java the text is the cell's name.
    """
    its_name, cell = await connection.value(name, path, protocol.TABLE, "GetAccessibleAt", "(so)", row, column)
    if its_name != name or cell == protocol.NULL:
        return None
    if (text := await _text(connection, name, cell)) is not None:
        return _Cell(str(cell), row, column, is_filled=bool(text))
    if await connection.property(name, cell, protocol.ACCESSIBLE, "Name", "s"):
        return _Cell(str(cell), row, column, is_filled=True)
    parts = await connection.value(name, cell, protocol.ACCESSIBLE, "GetChildren", "a(so)")
    for its_name, part in parts[:MOST_PARTS]:
        if its_name == name and await _text(connection, name, part):
            return _Cell(str(part), row, column, is_filled=True)
    return None


async def _text(connection: Connection, name: str, path: str) -> str | None:
    """Return the first character of a cell's text; ``None`` if the cell does not answer with a text."""
    try:
        return str(await connection.value(name, path, protocol.TEXT, "GetText", "s", 0, 1))
    except NoAnswer:
        return None
