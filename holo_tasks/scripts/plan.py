"""What a playbook may do, for people to see: its rules, which of them were followed, and a picture of that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_TOLD = 60
"""Characters of a rule's name in the picture."""
_CLASSES = (
    "classDef done fill:#d5efd5,stroke:#2e7d32,color:#111",
    "classDef stopped fill:#f7d4d4,stroke:#b02a2a,color:#111",
    "classDef open fill:#f2f2f2,stroke:#999,color:#555",
)


@dataclass(frozen=True)
class Plan:
    """A goal of a playbook: its rules by name, each with the thoughts that its actions are told apart by."""

    name: str
    rules: Mapping[str, Sequence[str]]

    def rule_of(self, thought: str) -> str:
        """Return the rule that a step with this thought is of; empty if it is none's, as where one only waits."""
        return next((rule for rule, thoughts in self.rules.items() if thought in thoughts), "")


def percent_of(plan: Plan, followed: Sequence[str]) -> float:
    """Return how much of a plan was followed, in percent; all of it was only where it came to its end."""
    return min(95.0, 100 * len(set(followed)) / max(1, len(plan.rules)))


def picture_of(plan: Plan, followed: Sequence[str], *, ended: bool) -> str:
    """Return a plan as a Mermaid flowchart: what was followed, in which order, and where it ended or stopped."""
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
    """Return a name without what Mermaid would take for its own."""
    return re.sub(r"[^\w .,-]", " ", name)[:MOST_TOLD]
