"""What moves by itself beside a target keeps nobody from clicking it, and what should is still noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench" / "bench_refusals.py"
KINDS = ["clock", "ticker", "spinner", "caret", "banner", "video"]
TRAPS = [
    "a row put on top of the list",
    "a list that grows every second",
    "a label that ticks",
    "labels that all tick",
    "the label of the only row ticks",
    "a button with another word",
    "a button whose words tick",
]
SHORT = {"clock", "video", "labels that all tick", "a row put on top of the list"}


def _tried(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def _marked(names: list[str]) -> list[object]:
    return [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in names]


@pytest.mark.parametrize("kind", _marked(KINDS))
def test_nothing_is_refused_beside(kind: str) -> None:
    tried = _tried("--clicks", "6", "--kinds", kind, "--traps")
    assert tried.returncode == 0, tried.stdout + tried.stderr


@pytest.mark.parametrize("trap", _marked(TRAPS))
def test_a_trap_beside_a_clock_is_noticed(trap: str) -> None:
    tried = _tried("--kinds", "--traps", trap)
    assert tried.returncode == 0, tried.stdout + tried.stderr
