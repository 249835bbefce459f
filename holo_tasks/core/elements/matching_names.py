"""Compare the names of elements with a wanted name: `best_named`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol, TypeVar


class Named(Protocol):
    """A thing with a name, such as an element."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def best_named(elements: list[N], name: str) -> list[N]:
    """Return the elements with the best matching names."""
    if exact := [element for element in elements if element.name == name]:
        return exact
    wanted = _comparable(name)
    if not wanted:
        return []
    if "*" not in wanted:
        return [element for element in elements if _comparable(element.name) == wanted]
    pattern = re.compile(".*".join(map(re.escape, wanted.split("*"))), re.DOTALL)
    return [element for element in elements if element.name and pattern.fullmatch(_comparable(element.name))]


@lru_cache(maxsize=4096)
def _comparable(name: str) -> str:
    return " ".join(name.casefold().split()).rstrip(" :….")
