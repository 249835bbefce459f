"""Definition of a fuzz target: a function that reads outside bytes, and its permitted results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy


class Defect(AssertionError):
    """A wrong result without an exception: a wrong verdict, a leaked secret, a wrong bill."""


@dataclass(frozen=True)
class Target:
    """A function that reads outside bytes.

    ``run`` returns the outcome in a word or two; inputs with a new outcome become samples. It may raise only
    ``expected``. ``seeds`` are valid samples; ``shapes`` generates more, valid and unusual. ``words`` are tokens for
    mutations. An input may use ``cpu_s`` of CPU time, ``memory_mb`` of additional memory, and ``wall_s`` in total.
    `make test` tries ``quick`` inputs.
    """

    name: str
    run: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    expected: tuple[type[BaseException], ...] = ()
    shapes: Callable[[], SearchStrategy[Any]] | None = None
    words: tuple[bytes, ...] = ()
    cpu_s: float = 5.0
    memory_mb: int = 512
    wall_s: float = 30.0
    quick: int = 100
    leak_rounds: int = 12


def check(sound: bool, what: str) -> None:
    """Raise `Defect` unless the condition holds."""
    if not sound:
        raise Defect(what)
