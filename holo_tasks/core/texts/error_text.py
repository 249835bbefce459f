"""Describe errors of libraries without the rejected value, which may be private."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError


class Problem(NamedTuple):
    """One validation error of pydantic: ``path`` to the value, message ``what`` and error type ``kind``."""

    path: tuple[int | str, ...]
    what: str
    kind: str

    @property
    def place(self) -> str:
        """The path with dots between its parts; empty for the whole value."""
        return ".".join(map(str, self.path))

    def text(self, whole: str = "") -> str:
        """Return the place and the message. ``whole`` is the name of the whole value, used if the place is empty."""
        place = self.place or whole
        return f"{place}: {self.what}" if place else self.what


def problems_of(error: ValidationError) -> list[Problem]:
    """Return the errors in pydantic's order. The list is never empty."""
    items = error.errors(include_url=False, include_input=False, include_context=False)
    return [Problem(item["loc"], item["msg"].removeprefix("Value error, "), item["type"]) for item in items]


def first_line(error: BaseException, otherwise: str = "") -> str:
    """Return the first line of an error's message. Without a message, return ``otherwise`` or the error's type."""
    return str(error).strip().partition("\n")[0] or otherwise or type(error).__name__
