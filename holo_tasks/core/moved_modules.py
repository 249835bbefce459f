"""Import modules by their former names, with a deprecation warning.

Packages were divided into sub-packages, so `holo_tasks.core.gestures` became `holo_tasks.core.input.gestures`. The
finder stands last in `sys.meta_path`, so that it is asked only for modules that do not exist. Version 0.4 removes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_LIBRARY = Path(__file__).parent.parent
RENAMED = {
    "desktop.xlink": "desktop.x11.x_connection",
    "desktop.xserver": "desktop.x11.x_server",
    "desktop.layout": "desktop.x11.keyboard_map",
    "desktop.wm": "desktop.x11.window_manager",
    "desktop.ear": "desktop.x11.glx_requests",
    "desktop.owners": "desktop.programs.window_owners",
    "desktop.eyes": "desktop.capture.settled_screen",
    "desktop.redrawn": "desktop.capture.changed_pixels",
    "desktop.hands": "desktop.input.gesture_player",
    "desktop.typist": "desktop.input.typing",
    "desktop.hand_witness": "desktop.input.input_recorder",
    "desktop.far_typing": "desktop.input.remote_typing",
    "desktop.measured": "desktop.calibration.click_errors",
    "desktop.target": "desktop.calibration.click_window",
    "run.kept_work": "run.items.stored_work",
    "run.untold": "run.prefect_edge.unreported_runs",
    "cli.run_flow": "cli.run_command.flow",
    "cli.run_settings": "cli.run_command.settings",
    "by_hand.sitting": "by_hand.step_collector",
    "by_hand.told": "by_hand.trace_writer",
    "by_hand.hidden": "by_hand.typed_secrets",
    "machine.closed": "machine.process_protection",
    "desktop.wanted_program": "desktop.programs.app_setting",
    "desktop.sharing": "desktop.programs.shared_folder_mixin",
    "compiler.written": "compiler.playbook_yaml",
    "compiler.shelves": "compiler.playbook_stores",
    "compiler.sights": "compiler.read_pictures",
    "scripts.past": "scripts.earlier_steps",
    "accessibility.mending": "accessibility.tree_update",
    "agent.keeping": "agent.playbooks.replay_results",
    "healing.keep": "healing.replay_results",
    "healing.settle": "healing.decide",
    "live_view.door": "live_view.access",
    "loop.doors": "loop.services",
    "telemetry.watch": "telemetry.run_observer",
    "telemetry.watch_factory": "telemetry.observer_factory",
    "safety.written_settings": "safety.settings_model",
    "core.renamed": "core.renamed_arguments",
    "core.side_by_side": "core.screen.separate_panels",
    "core.outside": "core.texts.outside_text",
    "models.bounded": "models.bounded_client",
    "inventory.bounded": "inventory.bounded_reading",
    "core.actions": "core.prompts.tool_calls",
    "scripts.actions": "scripts.steps_and_targets",
    "scripts.step_models": "scripts.steps_and_targets",
    "cli.services": "cli.doctor.storage_checks",
    "core.table_rows": "core.screen.row_alignment",
    "core.scaling": "core.prompts.call_to_gesture",
    "loop.consent": "loop.approval",
    "safety.confirm": "safety.approval_rules",
    "audit.export": "audit.csv_export",
    "safety.patterns": "safety.masking.user_patterns",
}
"""Modules that got another name when they moved, by ``PACKAGE.MODULE``.

A module that kept its name is not in this table: it is searched in the sub-packages of its package.
"""


class MovedModules(MetaPathFinder, Loader):
    """Finds ``holo_tasks.PACKAGE.MODULE`` in the sub-package that has the module now."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a moved module, or ``None`` for any other name."""
        parts = name.split(".")
        now = present_name(parts[1], parts[2]) if len(parts) == 3 and parts[0] == "holo_tasks" else ""
        return ModuleSpec(name, self, loader_state=now) if now else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module under its present name."""
        warnings.warn(f"{spec.name} is {spec.loader_state} now.", DeprecationWarning, stacklevel=2)
        module = import_module(spec.loader_state)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, which the import system has replaced."""
        name = module.__spec__.name if module.__spec__ is not None else ""
        module.__spec__ = self._specs.pop(name, module.__spec__)

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}


def present_name(package: str, module: str) -> str:
    """Return the present name of a module that moved, or an empty string."""
    if now := RENAMED.get(f"{package}.{module}"):
        return f"holo_tasks.{now}"
    found = sorted(_LIBRARY.glob(f"{package}/*/{module}.py")) if module.isidentifier() else []
    return f"holo_tasks.{package}.{found[0].parent.name}.{module}" if len(found) == 1 else ""
