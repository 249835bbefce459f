"""The field that is typed into: its focus, its clearing, and its contents afterwards.

`typing_watch` stops the typing of a bound secret if the text shows outside the field's box.

`focused_field` finds the control with the focus, `clear_field` clears it, `emptied_cells` checks that no cells of a
table are emptied with it, `changed_field` finds the field that shows a typed text, and `offered_entries` waits for
a list before Enter. The package imports `core`,
`desktop.capture`, `desktop.elements`, `desktop.input`, `desktop.programs`, `desktop.secrets`, `desktop.stop` and
`desktop.x11`.
"""

from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a name of the module that this package replaced: `changed_field`."""
        from importlib import import_module

        return getattr(import_module("holo_tasks.desktop.fields.changed_field"), name)
