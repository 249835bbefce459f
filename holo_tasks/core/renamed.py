"""Arguments that have another name now: who still uses the old one is told the new one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from holo_tasks.core.errors import InvalidUsage

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function raise `InvalidUsage` for an old argument; each is given with what to write instead of it."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if inspect.iscoroutinefunction(function):  # so is what stands for it: Prefect and others ask

            @wraps(function)
            async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
                check_names(function.__name__, kwargs, names)
                return await function(*args, **kwargs)

            return cast("Callable[P, R]", awaited)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            check_names(function.__name__, kwargs, names)
            return function(*args, **kwargs)

        return called

    return decorate


def check_names(function: str, given: Mapping[str, object], names: Mapping[str, str]) -> None:
    """Raise `InvalidUsage` if one of the arguments given has another name now."""
    for old in given.keys() & names.keys():
        raise InvalidUsage(f"{function}() has no argument {old}= any more: write {names[old]}.")
