"""A sequence that is computed when it is first needed. `ocr_reader` and `scripts.script_view` use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T], Generic[T]):
    """A sequence that is computed at its first use."""

    def __init__(self, find: Callable[[], Sequence[T]]) -> None:
        self._find = find

    def __len__(self) -> int:
        return len(self._find())

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self._find()[place]
