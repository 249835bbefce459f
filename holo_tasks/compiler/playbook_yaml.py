"""Write a compiled goal as YAML in the style of a person, with a comment that names the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from holo_tasks.compiler.build import BuiltGoal
from holo_tasks.compiler.recording import Recording

WIDTH = 118
_HEAD = """\
# Compiled from {count}. {model} Targets are names and texts on the screen, never coordinates.
# You may change this file. Its format: docs/reference/playbook.md.
#
# From:
{runs}
"""
_PROBE = """\
#
# Its probe, {name}, looks whether the effect exists. From:
{runs}
"""
_BY_MODEL = """\
#
# These steps take the model:
{lines}
"""
_UNREAD = """\
#
# At the end the model is asked for: {names}. These values cannot be read from a recorded screen.
# Compile this goal with runs that have another answer, or add to the rule how to read the values.
"""


class _Flow(dict[str, Any]):
    """A mapping that the YAML file has in one line."""


class _Row(list[Any]):
    """A list that the YAML file has in one line."""


class _Dumper(yaml.SafeDumper):
    """Indents lists inside mappings, as people do."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Dumper.add_representer(_Flow, lambda dumper, value: dumper.represent_mapping("tag:yaml.org,2002:map", value, True))
_Dumper.add_representer(_Row, lambda dumper, value: dumper.represent_sequence("tag:yaml.org,2002:seq", value, True))


@dataclass(frozen=True)
class CompiledGoal:
    """A compiled goal, and the recordings that it was compiled from."""

    name: str
    built: BuiltGoal
    recordings: Sequence[Recording]


def playbook_yaml(made: CompiledGoal, probe: CompiledGoal | None = None) -> str:
    """Return the text of a playbook with one goal, and with its probe if one is given."""
    count = "a run" if len(made.recordings) == 1 else f"{len(made.recordings)} runs"
    model = (
        "Its steps run without a model, apart from those below." if made.built.by_model else "It runs without a model."
    )
    head = _HEAD.format(count=count, model=model, runs=_runs(made.recordings))
    if probe is not None:
        head += _PROBE.format(name=probe.name, runs=_runs(probe.recordings))
    if made.built.by_model:
        lines = "\n".join(f"#   step {one.step}: {one.why}" for one in made.built.by_model)
        head += _BY_MODEL.format(lines=lines)
    if made.built.unread:
        head += _UNREAD.format(names=", ".join(made.built.unread))
    goals = {made.name: _goal(made.built, "" if probe is None else probe.name)}
    if probe is not None:
        goals[probe.name] = _goal(probe.built)
    body = {"name": made.name, "goals": goals}
    return head + yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)


def _runs(recordings: Sequence[Recording]) -> str:
    """Return a line for each run of some recordings: its name and its digest."""
    times = Counter((one.trace.rpartition("/")[2], one.digest) for one in recordings)
    lines = [f"#   {run}  sha256 {digest}" + f"  {count} times" * (count > 1) for (run, digest), count in times.items()]
    return "\n".join(lines)


def _goal(built: BuiltGoal, probe: str = "") -> dict[str, Any]:
    goal = dict(built.goal)
    kind = "steps" if "steps" in goal else "rules"
    rules = [_step(each) if kind == "steps" else _rule(each) for each in goal.pop(kind)]
    if "params" in goal:
        goal["params"] = _Flow(goal["params"])
    if "lists" in goal:
        goal["lists"] = {name: _Flow(kinds) for name, kinds in goal["lists"].items()}
    for name in {"press_once", "absent"} & goal.keys():
        goal[name] = _Row(goal[name])
    if "interruptions" in goal:
        goal["interruptions"] = {name: _interruption(one) for name, one in goal["interruptions"].items()}
    return {**goal, **({"probe": probe} if probe else {}), kind: rules}


def _interruption(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "do": _Flow({key: _value(key, value) for key, value in one["do"].items()})}


def _step(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step with its keys in the order, and its values in the style, of the YAML file."""
    if "each" in step:
        return {**step, "steps": [_step(one) for one in step["steps"]]}
    made = {key: _value(key, value) for key, value in step.items() if key != "read"}
    if "read" in step:
        reads = {name: _Flow(read) for name, read in step["read"].items()}
        made = {key: value for key, value in made.items() if key == "before"} | {"read": reads} | made
    return made


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    made = dict(rule)
    for key in ("screen", "not", "after", "unless_done"):
        if key in made:
            made[key] = _Row(made[key]) if len(made[key]) > 1 else made[key][0]
    if "read" in made:
        made["read"] = {name: _Flow(read) for name, read in made["read"].items()}
    made["do"] = [{key: _value(key, value) for key, value in action.items()} for action in rule["do"]]
    return made


def _value(key: str, value: Any) -> Any:
    if key == "picture":
        return Path(value).name  # the picture is in the folder of the playbook
    if key in ("then", "before", "after") and len(value) == 1:
        return _Flow(value[0]) if isinstance(value[0], dict) else value[0]
    if isinstance(value, dict) and key != "answer":
        return _Flow({inner: _value(inner, one) for inner, one in value.items()})
    if isinstance(value, list):
        return _Row([_value("", one) for one in value] if key in ("or", "before", "after") else value)
    return value
