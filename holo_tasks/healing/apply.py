"""Write an accepted proposal into a playbook's file, and leave the rest of the text unchanged.

`apply` does it; `replay_results` and `decide` call it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from holo_tasks.compiler.steps import as_written
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.healing.proposal import Proposal, changed
from holo_tasks.scripts.playbook import (
    Goal,
    GoalInterruption,
    ListStep,
    Loop,
    Playbook,
    Rule,
    load_playbook,
    parse_playbook,
    rules_of_steps,
)

WIDTH = 10_000
"""Columns of YAML that is written on one line."""


def apply(file: Path, proposal: Proposal) -> None:
    """Add the proposed target, or the proposed list of screen texts, after the present ones.

    Raises `InvalidUsage` and writes nothing if the step has changed since the proposal, or if other parts of the
    playbook would change.
    """
    playbook = load_playbook(file)
    text = file.read_text(encoding="utf-8")
    made = applied(text, playbook, proposal, str(file), file.parent)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        draft.write_text(made, encoding="utf-8")
        draft.chmod(file.stat().st_mode & 0o777)
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidUsage(f"The playbook cannot be written: {error.strerror}.") from None


def applied(text: str, playbook: Playbook, proposal: Proposal, source: str, folder: Path | None = None) -> str:
    """Return the playbook's text with the proposal added."""
    if proposal.kind == "interruption":
        return _with_interruption(text, playbook, proposal, source, folder)
    rule = _rule(playbook, proposal)
    new = _with_screen(rule, proposal) if proposal.kind == "screen" else _with_target(rule, proposal)
    if new == rule:
        return text
    node = _rule_node(yaml.compose(text, Loader=yaml.SafeLoader), playbook, proposal)
    made = _screen_text(text, node, new) if proposal.kind == "screen" else _target_text(text, node, new, proposal)
    if _parsed(made, source, folder) != _expected(playbook, proposal.goal, rule, new):
        raise InvalidUsage(
            f"{source} is written so that rule {proposal.rule!r} cannot be changed alone: change it by hand."
        )
    return made


def _with_interruption(text: str, playbook: Playbook, proposal: Proposal, source: str, folder: Path | None) -> str:
    """Return the playbook's text with one more interruption of a goal."""
    goal, name = playbook.goals.get(proposal.goal), proposal.rule
    if goal is None:
        raise _stale(proposal)
    if name in goal.interruptions:
        return text
    node = _at(_at(yaml.compose(text, Loader=yaml.SafeLoader), "goals"), proposal.goal)
    written = f"{name}: {_on_one_line(proposal.new)}"
    known = next((each for each in node.value if each[0].value == "interruptions"), None)
    key = known[1].value[0][0] if known is not None and known[1].value else node.value[0][0]
    indent = " " * key.start_mark.column
    added = f"{written}\n{indent}" if known is not None else f"interruptions:\n{indent}  {written}\n{indent}"
    made = text[: key.start_mark.index] + added + text[key.start_mark.index :]
    one = GoalInterruption.model_validate(proposal.new)
    changed_goal = _made_again(goal, interruptions={**goal.interruptions, name: one})
    wanted = playbook.model_copy(update={"goals": {**playbook.goals, proposal.goal: changed_goal}})
    if _parsed(made, source, folder) != wanted:
        raise InvalidUsage(
            f"{source} is written so that nothing can be added to its goal {proposal.goal!r}: add the interruption "
            f"{name!r} by hand."
        )
    return made


def _parsed(text: str, source: str, folder: Path | None) -> Playbook | None:
    """Return a playbook, or ``None`` if the text is not one."""
    try:
        return parse_playbook(text, source, folder)
    except InvalidUsage:
        return None


def _with_screen(rule: Rule, proposal: Proposal) -> Rule:
    """Return the rule with one more list of texts for its screen."""
    if list(rule.screen) != proposal.old:
        raise _stale(proposal)
    new = tuple(map(str, proposal.new))
    return rule if new in rule.or_screen else rule.model_copy(update={"or_screen": (*rule.or_screen, new)})


def _with_target(rule: Rule, proposal: Proposal) -> Rule:
    """Return the rule with one more target for the step."""
    action = rule.do[proposal.place]
    (old,) = action.targets
    # Targets may have been added since, so compare the first one.
    if as_written(old.model_copy(update={"or_": ()})) != _first(proposal.old):
        raise _stale(proposal)
    if proposal.target in old.ways:
        return rule
    do = (*rule.do[: proposal.place], changed(action, proposal.target), *rule.do[proposal.place + 1 :])
    return rule.model_copy(update={"do": do})


def _screen_text(text: str, node: yaml.MappingNode, new: Rule) -> str:
    """Return the text with all alternative lists of the rule's screen."""
    lists = _on_one_line([list(screen) for screen in new.or_screen])
    name = "before" if any(key.value == "before" for key, _ in node.value) else "screen"  # of a step, or of a rule
    if (known := _at(node, f"or_{name}")) is not None:
        return _replaced(text, known, lists)
    screen = next((key, value) for key, value in node.value if key.value == name)
    between = ", " if node.flow_style else "\n" + " " * screen[0].start_mark.column
    start, end = screen[1].start_mark.index, screen[1].end_mark.index
    return _replaced(text, screen[1], f"{text[start:end].rstrip()}{between}or_{name}: {lists}")


def _target_text(text: str, node: yaml.Node, new: Rule, proposal: Proposal) -> str:
    action = new.do[proposal.place]
    do = _at(node, "do")  # a step is an action itself, and an interruption may have a single one
    single = node if do is None else do
    at = _at(single.value[proposal.place] if isinstance(single, yaml.SequenceNode) else single, action.kind)
    return _replaced(
        text, _at(at, "at") if action.scroll is not None else at, _on_one_line(as_written(action.targets[0]))
    )


def _replaced(text: str, node: yaml.Node, new: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    was = text[start:end]
    return text[:start] + new + was[len(was.rstrip()) :] + text[end:]


def _rule(playbook: Playbook, proposal: Proposal) -> Rule:
    rules = playbook.rules_of(proposal.goal) if proposal.goal in playbook.goals else ()
    if rules and playbook.goals[proposal.goal].lists:  # for a loop, the steps in their written form
        rules = (*rules_of_steps(playbook.goals[proposal.goal].written_steps), *rules)
    rule = next((rule for rule in rules if rule.id == proposal.rule), None)
    if rule is None or proposal.place >= len(rule.do) or len(rule.do[proposal.place].targets) != 1:
        raise _stale(proposal)
    return rule


def _stale(proposal: Proposal) -> InvalidUsage:
    return InvalidUsage(
        f"The playbook was changed since proposal {proposal.id} was made: step {proposal.place + 1} of rule "
        f"{proposal.rule!r} is another one. Reject it: holo-tasks playbook reject FILE --id {proposal.id}."
    )


def _first(old: Any) -> Any:
    if not isinstance(old, dict) or "or" not in old:
        return old
    rest = {name: value for name, value in old.items() if name != "or"}
    return rest["text"] if set(rest) == {"text"} else rest


def _expected(playbook: Playbook, name: str, rule: Rule, changed_rule: Rule) -> Playbook:
    """Return the playbook with the one change. A rule of a shared list changes for all goals that include it."""
    if isinstance(rule.do[0], ListStep):
        changed_goal = _with_changed_step(playbook.goals[name], int(rule.id.removeprefix("step-")) - 1, changed_rule)
        return playbook.model_copy(update={"goals": {**playbook.goals, name: changed_goal}})

    def new(each: Any) -> Any:
        return changed_rule if each is rule else each

    goals = {name: _with_changed(goal, rule, changed_rule, new) for name, goal in playbook.goals.items()}
    shared = {name: tuple(map(new, rules)) for name, rules in playbook.shared.items()}
    return playbook.model_copy(update={"goals": goals, "shared": shared})


def _with_changed(goal: Goal, rule: Rule, changed_rule: Rule, new: Callable[[Any], Any]) -> Goal:
    """Return a goal with a changed rule or interruption."""
    if any(each is rule for each in goal.rules_of_interruptions):
        one = goal.interruptions[rule.id]
        kept = (each.thought for each in one.do)
        do = tuple(each.model_copy(update={"thought": said}) for each, said in zip(changed_rule.do, kept, strict=True))
        return _made_again(goal, interruptions={**goal.interruptions, rule.id: one.model_copy(update={"do": do})})
    return goal.model_copy(update={"rules": tuple(map(new, goal.rules))})


def _with_changed_step(goal: Goal, place: int, changed_rule: Rule) -> Goal:
    """Return a goal with a changed step at a place among its written steps."""
    (action,), steps = changed_rule.do, list[ListStep | Loop]()
    for step in goal.steps:
        ones = list(step.steps) if isinstance(step, Loop) else [step]
        if 0 <= place < len(ones):
            changes = {action.kind: getattr(action, action.kind), "or_before": changed_rule.or_screen}
            ones[place] = ones[place].model_copy(update=changes)
        place -= len(ones)
        steps.append(step.model_copy(update={"steps": tuple(ones)}) if isinstance(step, Loop) else ones[0])
    return _made_again(goal, steps=tuple(steps))


def _made_again(goal: Goal, **changes: Any) -> Goal:
    """Return a goal with changes, without the rules that were computed from it before."""
    return Goal.model_construct(**{**{name: getattr(goal, name) for name in type(goal).model_fields}, **changes})


def _rule_node(root: Any, playbook: Playbook, proposal: Proposal) -> yaml.MappingNode:
    """Return the YAML node of the proposal's rule. Raises `InvalidUsage` if the file has no such rule."""
    goal = _at(_at(root, "goals"), proposal.goal)
    steps = _at(goal, "steps")
    written = [] if steps is None else [one for step in steps.value for one in _steps_in(step)]
    numbers = {f"step-{number}": step for number, step in enumerate(written, start=1)}
    if proposal.rule in numbers:
        return numbers[proposal.rule]
    if (interruption := _at(_at(goal, "interruptions"), proposal.rule)) is not None:
        known: yaml.MappingNode = interruption
        return known
    lists = [rules for rules in [_at(goal, "rules")] if rules is not None]
    if (shared := _at(root, "shared")) is not None:
        lists += [value for _, value in shared.value]
    for rules in lists:
        for rule in rules.value:
            rule_id = _at(rule, "id")
            if rule_id is not None and rule_id.value == proposal.rule:
                found: yaml.MappingNode = rule
                return found
    raise _stale(proposal)


def _steps_in(node: yaml.MappingNode) -> list[yaml.MappingNode]:
    """Return the nodes of a loop's steps, or the node of a single step."""
    return list(_at(node, "steps").value) if _at(node, "each") is not None else [node]


def _at(node: Any, key: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _on_one_line(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=WIDTH)
    return text.removesuffix("...\n").strip()
