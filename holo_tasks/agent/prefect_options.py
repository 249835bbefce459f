"""The options of Prefect's flows and tasks that sub-goals and agent steps accept, and reasons against the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.renamed_arguments import check_names

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
"""Further options for a step that does not act."""
_ACTS = "the effect of a failed attempt is unknown. The flow around may have retries: work done under a key is skipped"
_KEPT = "the ledger stores the result of a sub-goal under its key=, but Prefect would find it by the order of calls"
_NO_FLOW_OPTION = {
    "cache_result_in_memory": _KEPT,
    "flow_run_name": "title= is the name of its runs, without the values of secrets",
    "name": "its results are stored under its function's name; title= is the name of its runs",
    "persist_result": _KEPT,
    "result_serializer": _KEPT,
    "result_storage": _KEPT,
    "retries": f"a sub-goal acts, and {_ACTS}",
    "retry_delay_seconds": f"a sub-goal acts, and {_ACTS}",
    "timeout_seconds": "write limits=Limits(timeout_seconds=…): its clock stops while a person has the screen",
    "validate_parameters": "finished work is recognized by the arguments of the call, before any conversion",
}
_TWICE = "the second call would do nothing"
_NO_ACTING_OPTION = {
    **dict.fromkeys(LOOKING_OPTIONS, f"a step that acts cannot be cached or kept: {_TWICE}"),
    **dict.fromkeys(
        ("retries", "retry_delay_seconds", "retry_jitter_factor"), f"a step that acts is tried once: {_ACTS}"
    ),
}
_NO_TASK_OPTION = {
    "name": "its function's name is its name; title= is the name of its runs",
    "persist_result": "its result may contain text of a screen: it is stored only with a cache_policy=",
    "retry_condition_fn": "the error says whether a fault is transient (`HoloError.transient`)",
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
    """Return the options of a sub-goal's flow. Raises `InvalidUsage` with the reason for an unsafe option."""
    check_names("subgoal", given, _OLD)
    return _check_options("@subgoal", given, FLOW_OPTIONS, _NO_FLOW_OPTION)


def check_task_options(given: Mapping[str, Any], *, acts: bool) -> Mapping[str, Any]:
    """Return the options of an agent step's task. Raises `InvalidUsage` with the reason for an unsafe option."""
    if acts:
        return _check_options("@agent_step", given, TASK_OPTIONS, _NO_TASK_OPTION | _NO_ACTING_OPTION)
    return _check_options("@agent_step", given, TASK_OPTIONS | LOOKING_OPTIONS, _NO_TASK_OPTION)


def _check_options(
    what: str, given: Mapping[str, Any], taken: frozenset[str], refused: Mapping[str, str]
) -> Mapping[str, Any]:
    for name in given:
        if name in refused and name not in taken:
            raise InvalidUsage(f"{what} does not take {name}=: {refused[name]}.")
        if name not in taken:
            raise InvalidUsage(f"{what} has no option {name}=; of Prefect's it takes: {', '.join(sorted(taken))}.")
    return given
