"""What a sub-goal declares of how it is worked on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.loop.screens import Screens, Scripted

MODEL, SCRIPT, PERSON = LAYERS = ("model", "script", "person")


@dataclass(frozen=True)
class Handling:
    """What a sub-goal declares: its screens, where it begins and may end, and who works on it in which order.

    Raises `InvalidUsage` if that does not fit together.
    """

    screens: Screens | None = None
    before: str = ""
    after: tuple[str, ...] = ()
    layers: tuple[str, ...] = (MODEL,)
    script: Scripted | None = None
    safe_to_repeat: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    secrets: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        known = ", ".join(LAYERS)
        if not self.layers or len(set(self.layers)) < len(self.layers) or not set(self.layers) <= set(LAYERS):
            raise InvalidUsage(f"layers= names some of {known}, each once, not {self.layers!r}.")
        if PERSON in self.layers[:-1]:
            raise InvalidUsage("A person is asked last: put 'person' at the end of layers=.")
        if both := set(self.once) & set(self.safe_to_repeat):
            raise InvalidUsage(f"{', '.join(sorted(both))} cannot be both in once= and in safe_to_repeat=.")
        if (self.before or self.after) and self.screens is None:
            raise InvalidUsage("before= and after= name states: declare them with screens=.")
        for name in filter(None, (self.before, *self.after)):
            assert self.screens is not None
            self.screens.state(name)

    def check_script(self) -> None:
        """Raise `InvalidUsage` if there is a layer for a script and no script, or the other way round."""
        if (SCRIPT in self.layers) != (self.script is not None):
            raise InvalidUsage("A script is a layer of its own: give both script= and layers= with 'script' in it.")


def handling_of(
    *,
    screens: Screens | None,
    before: str | None,
    after: str | Sequence[str] | None,
    layers: Sequence[str] | None,
    script: Scripted | None,
    safe_to_repeat: Sequence[str] | None,
    once: Sequence[str] | None,
    secrets: Sequence[str] | None,
    around: Handling,
) -> Handling:
    """Return what is declared, filled in by what is declared around it."""
    return Handling(
        screens=around.screens if screens is None else screens,
        before=around.before if before is None else before,
        after=around.after if after is None else (after,) if isinstance(after, str) else tuple(after),
        layers=around.layers if layers is None else (layers,) if isinstance(layers, str) else tuple(layers),
        script=around.script if script is None else script,
        safe_to_repeat=around.safe_to_repeat if safe_to_repeat is None else _labels(safe_to_repeat),
        once=around.once if once is None else _labels(once),
        secrets=around.secrets if secrets is None else _labels(secrets),
    )


def _labels(given: Sequence[str]) -> tuple[str, ...]:
    """Return labels as a tuple; a single one is not taken for its letters, which would guard nothing."""
    return (given,) if isinstance(given, str) else tuple(given)
