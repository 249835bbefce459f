"""Naive input gates, as a careless implementation might have. Loaded by each Python with this folder on its path.

PYTHON_HOLO_GATE selects the gate: a desktop's process inherits variables that begin with PYTHON, and few others.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec

GATE = "holo_tasks.desktop.input.gate"


def between_gestures(gate):
    """The gate checks the latch only at the start of a gesture."""
    gate.check = gate.__base__.check
    gate.event = gate.motion = gate.turn = gate.check
    admit = gate.admit

    def only_then(self, gesture, input_permit):
        if self._page.latched:
            raise sys.modules[GATE].Killed("The kill switch was used.")
        admit(self, gesture, input_permit)

    gate.admit = only_then


def in_the_parent(gate):
    """The agent's process checks, and tells this process to stop."""
    gate.check = gate.__base__.check
    gate.event = gate.motion = gate.turn = gate.check
    gate.admit = lambda self, gesture, slip: None
    gate.serve = lambda self, run: None


def without_a_lease(gate):
    """The gate has no lease: silence counts as permission, and only a request stops it."""
    gate._lapsed = lambda self: False


class Mutate(MetaPathFinder):
    """Replaces parts of the gate once it is loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != GATE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        execute = spec.loader.exec_module

        def and_mutate(module):
            execute(module)
            globals()[os.environ["PYTHON_HOLO_GATE"]](module.Gate)

        spec.loader.exec_module = and_mutate
        return spec


if "PYTHON_HOLO_GATE" in os.environ:
    sys.meta_path.insert(0, Mutate())
