"""Reject arguments that were renamed, with the new name in the error."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from holo_tasks.core.errors import InvalidUsage

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that raises `InvalidUsage` if an old argument is given.

    Each keyword is an old name. Its value is the text for the error: the new argument as the caller should write it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if inspect.iscoroutinefunction(function):  # Prefect checks this, so the wrapper must be a coroutine function

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
    """Raise `InvalidUsage` if a given argument has been renamed.

    Functions that take their options as a mapping call it directly.
    """
    for old in given.keys() & names.keys():
        raise InvalidUsage(f"{function}() has no argument {old}= any more: write {names[old]}.")
