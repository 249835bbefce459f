"""Let a program's API answer a sub-goal instead of its screen.

`Api` wraps an async function that stands among the ``layers`` of a sub-goal. `subgoal_options` checks it and binds it
to the sub-goal's arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Self

from holo_tasks.core.errors import InvalidUsage

HANDS = "hands"
"""Name of a script's first parameter, through which it acts on the screen."""


@dataclass(frozen=True)
class Api:
    """A layer that calls an async function instead of working on the screen.

    The function is called with those arguments of the sub-goal that it names, and its return value is the answer. It
    raises `GaveUp` if it has done nothing and the next layer may try. After any other exception, the effect of the call
    is unknown.

    Any async function in ``layers`` is wrapped in `Api` automatically. Write `Api` for a callable that does not look
    async, such as a lambda. Raises `InvalidUsage` if the function is not callable or takes ``hands``.
    """

    function: Callable[..., Awaitable[Any]]
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The arguments of the sub-goal's call, by name."""

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
        """Return the function's name with spaces, for the journal and the trace."""
        function = inspect.unwrap(getattr(self.function, "func", self.function))
        return str(getattr(function, "__name__", type(function).__name__)).replace("_", " ")

    def check(self, arguments: Set[str], owner: str) -> None:
        """Raise `InvalidUsage` if the function needs a parameter that is not in ``arguments``.

        ``owner`` names the sub-goal in the message.
        """
        for parameter in self._parameters:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise InvalidUsage(f"The API function {self.name!r} is called with keyword arguments: remove the `/`.")
            known = parameter.default is not parameter.empty or parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            )
            if parameter.name not in arguments and not known:
                has = ", ".join(sorted(arguments)) or "none"
                raise InvalidUsage(
                    f"The API function {self.name!r} takes {parameter.name!r}, and {owner} has no such argument (it "
                    f"has: {has}). Give its parameters the same names. If it works on the screen by its first "
                    "parameter, write Script(…)."
                )

    def called(self, given: Mapping[str, Any]) -> Self:
        """Return a copy bound to the arguments of one call of the sub-goal."""
        return replace(self, given=given)

    async def answer(self) -> Any:
        """Call the function with the arguments that it takes, and return its result.

        Raises `InvalidUsage` if the function returns something that cannot be awaited.
        """
        names = {parameter.name for parameter in self._parameters if parameter.kind is not parameter.VAR_KEYWORD}
        every = any(parameter.kind is parameter.VAR_KEYWORD for parameter in self._parameters)
        passed = {name: value for name, value in self.given.items() if every or name in names}
        answer = self.function(**passed)
        if not inspect.isawaitable(answer):
            raise InvalidUsage(f"The API function {self.name!r} is awaited: make it `async def`.")
        return await answer

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            raise InvalidUsage(f"The parameters of {self.function!r} cannot be read: give an async function.") from None


def is_api(layer: Any) -> bool:
    """Return whether a layer is an `Api` or an async function."""
    return isinstance(layer, Api) or (callable(layer) and _is_async(layer))


def _is_async(layer: Any) -> bool:
    called = getattr(type(layer), "__call__", None)  # noqa: B004 - the method itself is needed: it may be async
    return any(map(inspect.iscoroutinefunction, (layer, inspect.unwrap(layer), called)))


def _takes_hands(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    annotation_name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name == HANDS or annotation_name.rpartition(".")[2] == "Hands"
