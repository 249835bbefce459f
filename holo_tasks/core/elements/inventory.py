"""The programs, windows, menus and recent files of a machine, and their short description for the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.outside_text import SURROUNDINGS, quoted

MOST_TOKENS = 600
WINDOWS, MENUS, RECENT, PROGRAMS = "windows", "menus", "recent files", "programs"
_MOST = {WINDOWS: 12, MENUS: 60, RECENT: 10, PROGRAMS: 200}
_ASCII_PER_TOKEN, _TOKENS_PER_OTHER = 2.5, 3
"""Bounds of the token estimate: least ASCII characters per token, and most tokens per other character."""


@dataclass(frozen=True)
class Discover:
    """Option that lets an agent look up programs, windows and menus before it begins, and tell the model about them.

    ``recent`` are folders whose recently used files may be listed. Without it, no files are listed.
    """

    recent: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Discover | bool) -> Discover | None:
        """Return the option as a `Discover`: ``True`` gives the default, ``False`` gives ``None``.

        Raises `InvalidUsage` for other values.
        """
        if isinstance(given, bool):
            return cls() if given else None
        if not isinstance(given, Discover):
            raise InvalidUsage(f"discover= is True, False or Discover(recent=(…)), not {given!r}.")
        return given

    def __post_init__(self) -> None:
        if isinstance(self.recent, str):
            object.__setattr__(self, "recent", (self.recent,))
        for path in self.recent:
            if not isinstance(path, str) or not path.startswith(("/", "~")):
                raise InvalidUsage(f"Discover(recent=…) holds whole paths of folders, not {path!r}.")


@dataclass(frozen=True)
class Startable:
    """A program that can be started, as its desktop file describes it."""

    name: str
    command: str = ""
    categories: tuple[str, ...] = ()

    def __str__(self) -> str:
        about = ", ".join(part for part in (self.command, "/".join(self.categories[:2])) if part)
        return f"{self.name} ({about})" if about else self.name


@dataclass(frozen=True)
class Inventory:
    """The discovered items. ``menus`` maps each program to entries such as ``File > Save (Ctrl+S)``."""

    programs: tuple[Startable, ...] = ()
    windows: tuple[str, ...] = ()
    menus: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recent: tuple[str, ...] = ()

    def description(self, most_tokens: int = MOST_TOKENS) -> str:
        """Return the text for the model, as quoted data of at most ``most_tokens`` tokens; empty without items."""
        menus = [f"{program}: {entry}" for program, entries in self.menus.items() for entry in entries]
        wanted: dict[str, list[str]] = {
            WINDOWS: list(self.windows),
            MENUS: menus,
            RECENT: list(self.recent),
            PROGRAMS: list(map(str, self.programs)),
        }
        values: dict[str, Any] = {}
        for kind, entries in wanted.items():
            for entry in entries[: _MOST[kind]]:
                more = {**values, kind: [*values.get(kind, ()), entry]}
                if tokens_at_most(_as_data(more)) > most_tokens:
                    break
                values = more
        return _as_data(values) if values else ""


def tokens_at_most(text: str) -> int:
    """Return an upper bound of the number of tokens of a text for any tokenizer."""
    plain = sum(character.isascii() for character in text)
    return int(plain / _ASCII_PER_TOKEN) + _TOKENS_PER_OTHER * (len(text) - plain) + 1


def _as_data(values: Mapping[str, Any]) -> str:
    return f"{SURROUNDINGS}\n\n{quoted(values)}"
