"""Show a playbook to people as a diagram: its rules, and those that a run followed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_TOLD = 60
"""Longest name of a rule in the diagram, in characters."""
_CLASSES = (
    "classDef done fill:#d5efd5,stroke:#2e7d32,color:#111",
    "classDef stopped fill:#f7d4d4,stroke:#b02a2a,color:#111",
    "classDef open fill:#f2f2f2,stroke:#999,color:#555",
)


@dataclass(frozen=True)
class Plan:
    """A goal of a playbook: its rules by name, each with the thoughts of its actions."""

    name: str
    rules: Mapping[str, Sequence[str]]

    def rule_of(self, thought: str) -> str:
        """Return the rule of the step with this thought.

        Returns an empty string without one, for example for a wait.
        """
        return next((rule for rule, thoughts in self.rules.items() if thought in thoughts), "")


def percent_of(plan: Plan, followed: Sequence[str]) -> float:
    """Return the share of a plan's rules that were followed, in percent, at most 95.

    Callers report 100 at the end of a goal.
    """
    return min(95.0, 100 * len(set(followed)) / max(1, len(plan.rules)))


def picture_of(plan: Plan, followed: Sequence[str], *, ended: bool) -> str:
    """Return a plan as a Mermaid flowchart: the followed rules, their order, and where the run ended or stopped."""
    names = {rule: f"r{number}" for number, rule in enumerate(plan.rules)}
    lines = ["flowchart LR"]
    for rule, name in names.items():
        kind = "open" if rule not in followed else "done" if ended or rule != followed[-1] else "stopped"
        lines.append(f'  {name}["{_plain(rule)}"]:::{kind}')
    ways = Counter((before, after) for before, after in pairwise(followed))
    for (before, after), times in ways.items():
        often = f"|{times} times| " if times > 1 else ""
        lines.append(f"  {names[before]} --> {often}{names[after]}")
    return "\n".join([*lines, *(f"  {line}" for line in _CLASSES)])


def _plain(name: str) -> str:
    """Return a name without characters that have a meaning in Mermaid."""
    return re.sub(r"[^\w .,-]", " ", name)[:MOST_TOLD]
