"""Prefect's own options of flows and tasks: which of them sub-goals and agent steps take, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.renamed import check_names

_HOOKS = {"on_completion", "on_failure", "on_running"}
FLOW_OPTIONS = frozenset(
    {*_HOOKS, "on_cancellation", "on_crashed", "description", "log_prints", "tags", "task_runner", "version"}
)
TASK_OPTIONS = frozenset({*_HOOKS, "description", "log_prints", "tags", "timeout_seconds", "version"})
LOOKING_OPTIONS = frozenset(
    {
        "cache_expiration",
        "cache_key_fn",
        "cache_policy",
        "refresh_cache",
        "result_serializer",
        "result_storage",
        "result_storage_key",
        "retries",
        "retry_delay_seconds",
        "retry_jitter_factor",
    }
)
"""Of a step that only looks or asks, besides."""
_ACTS = "nobody knows what a failed one did. The flow around may have retries: what is done under a key is skipped"
_KEPT = "what a sub-goal comes to is kept in the ledger under its key=, and Prefect would find it by the order of calls"
_NO_FLOW_OPTION = {
    "cache_result_in_memory": _KEPT,
    "flow_run_name": "title= is the name of its runs, without the values of secrets",
    "name": "its function's name is what its results are kept by; title= is the name of its runs",
    "persist_result": _KEPT,
    "result_serializer": _KEPT,
    "result_storage": _KEPT,
    "retries": f"a sub-goal acts, and {_ACTS}",
    "retry_delay_seconds": f"a sub-goal acts, and {_ACTS}",
    "timeout_seconds": "write limits=Limits(timeout_seconds=…): that clock stands still while a person has the screen",
    "validate_parameters": "what is done is known by the arguments as they are given",
}
_TWICE = "the second time, nothing would happen"
_NO_ACTING_OPTION = {
    **dict.fromkeys(LOOKING_OPTIONS, f"a step that acts cannot be cached or kept: {_TWICE}"),
    **dict.fromkeys(
        ("retries", "retry_delay_seconds", "retry_jitter_factor"), f"a step that acts is tried once: {_ACTS}"
    ),
}
_NO_TASK_OPTION = {
    "name": "its function's name is what it is called by; title= is the name of its runs",
    "persist_result": "what a step returns may hold what a screen says: it is kept only by a cache_policy=",
    "retry_condition_fn": "which faults pass by themselves is told by the error (`HoloError.transient`)",
    "task_run_name": "title= is the name of its runs, without the values of secrets",
}
_OLD = {
    "after": "screens=SCREENS.route(ends=…)",
    "before": "screens=SCREENS.route(begins=…)",
    "once": "effect=Effect(press_once=…)",
    "precondition": "effect=Effect(precondition=…)",
    "probe": "effect=Effect(probe=…)",
    "safe_to_repeat": "effect=Effect(retry_click=…)",
    "script": "layers=[…, Script(…)]",
    "token": "key=",
}


def check_flow_options(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a sub-goal's flow. Raises `InvalidUsage` for one that would break a promise, and why."""
    check_names("subgoal", given, _OLD)
    return _checked("@subgoal", given, FLOW_OPTIONS, _NO_FLOW_OPTION)


def check_task_options(given: Mapping[str, Any], *, acts: bool) -> Mapping[str, Any]:
    """Return the options of an agent step's task. Raises `InvalidUsage` for one that would break a promise, and why."""
    if acts:
        return _checked("@agent_step", given, TASK_OPTIONS, _NO_TASK_OPTION | _NO_ACTING_OPTION)
    return _checked("@agent_step", given, TASK_OPTIONS | LOOKING_OPTIONS, _NO_TASK_OPTION)


def _checked(
    what: str, given: Mapping[str, Any], taken: frozenset[str], refused: Mapping[str, str]
) -> Mapping[str, Any]:
    for name in given:
        if name in refused and name not in taken:
            raise InvalidUsage(f"{what} does not take {name}=: {refused[name]}.")
        if name not in taken:
            raise InvalidUsage(f"{what} has no option {name}=; of Prefect's it takes: {', '.join(sorted(taken))}.")
    return given
