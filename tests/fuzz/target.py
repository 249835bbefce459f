"""What is fuzzed: something that reads bytes from outside, and what may come of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy


class Defect(AssertionError):
    """What came out is wrong, though nothing was raised: a verdict, a leak of a secret, a wrong bill."""


@dataclass(frozen=True)
class Target:
    """Something that reads bytes from outside.

    ``run`` returns what came of them, in a word or two: inputs whose outcome is new are built upon. Of what it raises
    only ``expected`` is in order. ``seeds`` are valid samples; ``shapes`` makes more of them, sound and odd. ``words``
    are put in between. An input may take ``cpu_s`` of the processor, ``memory_mb`` more than there was, and ``wall_s``
    in all. ``quick`` inputs are tried in `make test`.
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
    """Raise `Defect` unless something is as it has to be."""
    if not sound:
        raise Defect(what)
