"""`@flow`: a Prefect flow with readable run names, and with expected errors as one line in its log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from prefect import Flow

from holo_tasks.run.prefect_edge.log_filter import one_line_errors
from holo_tasks.run.prefect_edge.secret_filter import ScrubbedFlow

P = ParamSpec("P")
R = TypeVar("R")


class FlowDecorator(Protocol):
    """Decorator that makes a function a flow with the same signature."""

    def __call__(self, function: Callable[P, R], /) -> Flow[P, R]: ...


@overload
def flow(function: Callable[P, R], /) -> Flow[P, R]: ...
@overload
def flow(*, name: str | None = None, flow_run_name: str | None = None, **flow_options: Any) -> FlowDecorator: ...
def flow(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    flow_run_name: str | None = None,
    **flow_options: Any,
) -> Any:
    """Make a function a Prefect flow, as `prefect.flow` does, with readable run names and a short log.

    ``flow_run_name`` is a format string over the arguments. Each value in it becomes one line without invisible
    characters and is cut to 120 characters. The name is cut to 200. Values of the registered secrets are removed from
    the name and from the recorded parameters. The function gets the real values.

    The log shows an expected error (`HoloError`) as one line without a traceback. ``flow_options`` are the other
    options of Prefect's flows.
    """
    one_line_errors()

    def decorate(function: Callable[P, R]) -> Flow[P, R]:
        return ScrubbedFlow(cast("Any", function), name=name, flow_run_name=flow_run_name, **flow_options)

    return decorate(function) if function is not None else decorate
