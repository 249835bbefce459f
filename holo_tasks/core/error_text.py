"""An error of a library's in words: what is wrong and where, never the value, which may be private."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError


class Problem(NamedTuple):
    """One thing that is wrong with a value: the way to it, what pydantic says of it, and how pydantic calls that."""

    path: tuple[int | str, ...]
    what: str
    kind: str

    @property
    def place(self) -> str:
        """The way in words; nothing if it is all of the value."""
        return ".".join(map(str, self.path))

    def told(self, whole: str = "") -> str:
        """Return the place and what is wrong there; ``whole`` is what all of the value is called."""
        place = self.place or whole
        return f"{place}: {self.what}" if place else self.what


def problems_of(error: ValidationError) -> list[Problem]:
    """Return what is wrong, in pydantic's order; there is always something."""
    items = error.errors(include_url=False, include_input=False, include_context=False)
    return [Problem(item["loc"], item["msg"].removeprefix("Value error, "), item["type"]) for item in items]


def first_line(error: BaseException, otherwise: str = "") -> str:
    """Return the first line of what an error says; of one that says nothing ``otherwise``, or its type."""
    return str(error).strip().partition("\n")[0] or otherwise or type(error).__name__
