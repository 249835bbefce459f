"""Remove the values of secrets from names, parameters and errors before Prefect records them.

`ScrubbedFlow`, `ScrubbedRunName` and `with_scrubbed_errors` wrap a flow's parameters, run names and exceptions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from prefect import Flow

from holo_tasks.core.texts.outside_text import fill_in, named
from holo_tasks.safety.scrubbing import scrub_data, scrub_error, scrub_text

P = ParamSpec("P")
R = TypeVar("R")

MOST = 200
"""Longest name of a run, in characters."""


def as_name(text: str) -> str:
    """Return text as a run's name: one line without secrets, at most ``MOST`` characters."""
    return named(scrub_text(text), MOST)


class ScrubbedRunName(str):
    """A template for a run's name, with secrets removed from the filled-in values.

    Prefect fills in a template by calling `format` on it, and calls no other method with the values.
    """

    __slots__ = ()

    def format(self, *args: object, **kwargs: object) -> str:
        return as_name(fill_in(str(self), *args, **kwargs))


class ScrubbedFlow(Flow[P, R]):
    """A flow whose parameters and run names are recorded without secrets. The flow function gets the real values."""

    def __init__(self, fn: Callable[P, R], *, flow_run_name: str | Callable[[], str] | None = None, **options: Any):
        name = ScrubbedRunName(flow_run_name) if isinstance(flow_run_name, str) else flow_run_name
        super().__init__(fn, flow_run_name=name, **options)

    def with_options(self, **options: Any) -> ScrubbedFlow[P, R]:
        """Return the same flow with other options."""
        made: Any = super().with_options(**options)
        made.__class__ = ScrubbedFlow  # Prefect makes a flow of its own class
        if isinstance(made.flow_run_name, str):
            made.flow_run_name = ScrubbedRunName(made.flow_run_name)
        return cast("ScrubbedFlow[P, R]", made)

    def serialize_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        hidden: dict[str, Any] = scrub_data(super().serialize_parameters(parameters))
        return hidden


def with_scrubbed_errors(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Return the function wrapped so that its exceptions contain no secrets. Prefect records exceptions as raised."""

    @wraps(function)
    async def quiet(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await function(*args, **kwargs)
        except BaseException as error:
            hidden = scrub_error(error)
            if hidden is error:
                raise
            raise hidden from None

    return quiet
