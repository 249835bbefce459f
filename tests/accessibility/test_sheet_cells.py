"""Of a sheet the filled cells are read, and the empty cells that a person fills in next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from holo_tasks.accessibility.sheet_cells import filled_cells

ROWS, COLUMNS = 6, 5
FILLED = {(0, 0): "Number", (0, 1): "Customer", (0, 2): "Remark", (1, 0): "R-0901", (1, 1): "Adler"}


class Table:
    """A program that answers for a table of cells of ten by ten pixels."""

    def __init__(self, texts: Mapping[tuple[int, int], str]) -> None:
        self.texts = texts

    async def ask(self, name: str, path: str, what: str, member: str, kind: str, at: tuple[int, int, int]) -> Any:
        row, column = min(at[1] // 10, ROWS - 1), min(at[0] // 10, COLUMNS - 1)
        return "(so)", [(name, f"{row},{column}")]

    async def value(self, name: str, path: str, what: str, member: str, kind: str, *told: Any) -> Any:
        match member:
            case "GetExtents":
                return 0, 0, 10 * COLUMNS, 10 * ROWS
            case "GetIndexInParent":
                row, column = map(int, path.split(","))
                return row * COLUMNS + column
            case "GetRowAtIndex":
                return told[0] // COLUMNS
            case "GetColumnAtIndex":
                return told[0] % COLUMNS
            case "GetAccessibleAt":
                return name, f"{told[0]},{told[1]}"
            case _:
                row, column = map(int, path.split(","))
                return self.texts.get((row, column), "")


async def every(*asked: Callable[[], Awaitable[Any]]) -> list[Any]:
    return list(await asyncio.gather(*(each() for each in asked)))


async def read(texts: Mapping[tuple[int, int], str], *, is_sheet: bool) -> set[str] | None:
    table: Any = Table(texts)
    found = await filled_cells(table, ":1.1", "/table", every, is_sheet=is_sheet)
    return None if found is None else set(found)


async def test_the_empty_cells_of_the_filled_part_and_the_next_row_are_read() -> None:
    filled = {f"{row},{column}" for row, column in FILLED}
    assert await read(FILLED, is_sheet=False) == filled, "a list has no next row"
    assert await read(FILLED, is_sheet=True) == filled | {"1,2", "2,0", "2,1", "2,2"}


async def test_a_sheet_without_texts_has_no_cells() -> None:
    assert await read({}, is_sheet=True) == set()
