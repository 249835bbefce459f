"""Elements of user interfaces, from accessibility trees, and their descriptions in words.

`elements` has the tree, `named_target` compares a description with the control at a point, `open_lists` finds the field
of a list, and `inventory` describes the programs of a machine. The package imports `core`, `core.input`, `core.screen`
and `core.texts`.
"""

from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a name of the module that this package replaced: `elements`."""
        from importlib import import_module

        return getattr(import_module("holo_tasks.core.elements.elements"), name)
