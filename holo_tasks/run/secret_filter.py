"""What Prefect is told of a flow or a task, without the values of the secrets that are in use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from prefect import Flow

from holo_tasks.core.outside import fill_in, named
from holo_tasks.safety.scrubbing import hush_error, hushed, hushed_plain

P = ParamSpec("P")
R = TypeVar("R")

MOST = 200
"""A run's name is not longer."""


def as_name(text: str) -> str:
    """Make a name of what a template came to, whatever was filled in: one line without values, not too long."""
    return named(hushed(text), MOST)


class HushedName(str):
    """A template for a run's name, whose values are made fit for one.

    Prefect fills in strings with their own `format`, and calls nothing else with it.
    """

    __slots__ = ()

    def format(self, *args: object, **kwargs: object) -> str:
        return as_name(fill_in(str(self), *args, **kwargs))


class HushedFlow(Flow[P, R]):
    """A flow whose arguments reach Prefect without values; the flow itself gets them as they are."""

    def serialize_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = hushed_plain(super().serialize_parameters(parameters))
        return told


def hushing_errors(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Let a function's errors travel on without values: Prefect writes them down as it sees them."""

    @wraps(function)
    async def quiet(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await function(*args, **kwargs)
        except BaseException as error:
            hidden = hush_error(error)
            if hidden is error:
                raise
            raise hidden from None

    return quiet
