"""A program's API among the layers of a sub-goal."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Self

from holo_tasks.core.errors import InvalidUsage

HANDS = "hands"
"""What a script calls its first parameter."""


@dataclass(frozen=True)
class Api:
    """A program's API, as a layer: an async function without hands that does what the sub-goal is for, and answers.

    It is called with those of the sub-goal's arguments that it names. What it returns is the answer. It raises `GaveUp`
    to say that it has done nothing and that the next layer has its turn; of anything else that it raises nobody knows
    what it did. An async function in ``layers`` is taken for one: `Api` says so of what does not look like it, such as
    a lambda. Raises `InvalidUsage` for what cannot be one.
    """

    function: Callable[..., Awaitable[Any]]
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The arguments of the sub-goal that it is called for."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidUsage(f"Api(…) takes an async function, not {self.function!r}.")
        first = next(iter(self._parameters), None)
        if first is not None and _takes_hands(first):
            raise InvalidUsage(
                f"{self.name!r} takes {first.name}, so it works on the screen: it is a script. In layers= write "
                "Script(function), or lambda …: Script(function, …) if it needs the sub-goal's arguments."
            )

    @property
    def name(self) -> str:
        """What it is called in the journal and the trace."""
        function = inspect.unwrap(getattr(self.function, "func", self.function))
        return str(getattr(function, "__name__", type(function).__name__)).replace("_", " ")

    def check(self, arguments: Set[str], whose: str) -> None:
        """Raise `InvalidUsage` unless arguments of these names are all that it needs."""
        for parameter in self._parameters:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise InvalidUsage(f"The API function {self.name!r} is called by name: take the `/` out of it.")
            known = parameter.default is not parameter.empty or parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            )
            if parameter.name not in arguments and not known:
                has = ", ".join(sorted(arguments)) or "none"
                raise InvalidUsage(
                    f"The API function {self.name!r} takes {parameter.name!r}, and {whose} has no such argument (it "
                    f"has: {has}). Call its parameters as those are called. If it works on the screen by its first "
                    "parameter, write Script(…)."
                )

    def called(self, given: Mapping[str, Any]) -> Self:
        """Return it for a call of the sub-goal."""
        return replace(self, given=given)

    async def answer(self) -> Any:
        """Call the function; return what it does."""
        names = {parameter.name for parameter in self._parameters if parameter.kind is not parameter.VAR_KEYWORD}
        every = any(parameter.kind is parameter.VAR_KEYWORD for parameter in self._parameters)
        told = {name: value for name, value in self.given.items() if every or name in names}
        answer = self.function(**told)
        if not inspect.isawaitable(answer):
            raise InvalidUsage(f"The API function {self.name!r} is awaited: make it `async def`.")
        return await answer

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            raise InvalidUsage(f"Nobody can tell what {self.function!r} takes: give an async function.") from None


def is_api(layer: Any) -> bool:
    """Say whether a layer is an API, or an async function, which stands for one."""
    return isinstance(layer, Api) or (callable(layer) and _is_async(layer))


def _is_async(layer: Any) -> bool:
    called = getattr(type(layer), "__call__", None)  # noqa: B004 - not whether it can be called, but how
    return any(map(inspect.iscoroutinefunction, (layer, inspect.unwrap(layer), called)))


def _takes_hands(parameter: inspect.Parameter) -> bool:
    said = parameter.annotation
    written = said if isinstance(said, str) else getattr(said, "__name__", "")
    return parameter.name == HANDS or written.rpartition(".")[2] == "Hands"
