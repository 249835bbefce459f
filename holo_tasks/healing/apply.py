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
from holo_tasks.scripts.playbook import Goal, Playbook, Rule, load_playbook, parse_playbook

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
    if proposal.goal in playbook.goals and playbook.goals[proposal.goal].lists:
        raise InvalidUsage(f"The goal {proposal.goal!r} of {source} has a loop: change its steps by hand.")
    rule = _rule(playbook, proposal)
    new = _with_screen(rule, proposal) if proposal.kind == "screen" else _with_target(rule, proposal)
    if new == rule:
        return text
    node = _rule_node(yaml.compose(text, Loader=yaml.SafeLoader), playbook, proposal)
    made = _screen_text(text, node, new) if proposal.kind == "screen" else _target_text(text, node, new, proposal)
    if parse_playbook(made, source, folder) != _expected(playbook, rule, new):
        raise InvalidUsage(
            f"{source} is written so that rule {proposal.rule!r} cannot be changed alone: change it by hand."
        )
    return made


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
    if (known := _at(node, "or_screen")) is not None:
        return _replaced(text, known, lists)
    screen = next((key, value) for key, value in node.value if key.value == "screen")
    between = ", " if node.flow_style else "\n" + " " * screen[0].start_mark.column
    start, end = screen[1].start_mark.index, screen[1].end_mark.index
    return _replaced(text, screen[1], f"{text[start:end].rstrip()}{between}or_screen: {lists}")


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


def _expected(playbook: Playbook, rule: Rule, changed_rule: Rule) -> Playbook:
    """Return the playbook with the one change. A rule of a shared list changes for all goals that include it."""

    def new(each: Any) -> Any:
        return changed_rule if each is rule else each

    goals = {name: _with_changed(goal, rule, changed_rule, new) for name, goal in playbook.goals.items()}
    shared = {name: tuple(map(new, rules)) for name, rules in playbook.shared.items()}
    return playbook.model_copy(update={"goals": goals, "shared": shared})


def _with_changed(goal: Goal, rule: Rule, changed_rule: Rule, new: Callable[[Any], Any]) -> Goal:
    """Return a goal with a changed rule, or with the changed step that the rule was made of."""
    if any(each is rule for each in goal.rules_of_interruptions):
        one = goal.interruptions[rule.id]
        kept = (each.thought for each in one.do)
        do = tuple(each.model_copy(update={"thought": said}) for each, said in zip(changed_rule.do, kept, strict=True))
        return _made_again(goal, interruptions={**goal.interruptions, rule.id: one.model_copy(update={"do": do})})
    made = {each.id: each for each in goal.rules_of_steps}
    if made.get(rule.id) is not rule:
        return goal.model_copy(update={"rules": tuple(map(new, goal.rules))})
    place, (action,) = list(reversed(made)).index(rule.id), changed_rule.do
    kind = action.kind
    step = goal.steps[place].model_copy(update={kind: getattr(action, kind)})
    return _made_again(goal, steps=(*goal.steps[:place], step, *goal.steps[place + 1 :]))


def _made_again(goal: Goal, **changes: Any) -> Goal:
    """Return a goal with changes, without the rules that were computed from it before."""
    return Goal.model_construct(**{**{name: getattr(goal, name) for name in type(goal).model_fields}, **changes})


def _rule_node(root: Any, playbook: Playbook, proposal: Proposal) -> yaml.MappingNode:
    """Return the YAML node of the proposal's rule. Raises `InvalidUsage` if the file has no such rule."""
    goal = _at(_at(root, "goals"), proposal.goal)
    steps, numbers = _at(goal, "steps"), [each.id for each in reversed(playbook.goals[proposal.goal].rules_of_steps)]
    if steps is not None and proposal.rule in numbers:
        step: yaml.MappingNode = steps.value[numbers.index(proposal.rule)]
        return step
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


def _at(node: Any, key: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _on_one_line(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=WIDTH)
    return text.removesuffix("...\n").strip()
