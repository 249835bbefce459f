"""Secrets on a desktop: stored in the host process, and typed only into the windows they are bound to.

`secret_store` holds the values, `secret_binding` decides on a window, `secret_windows` tracks windows that may show a
value. The package imports `core`, `machine`, `desktop.programs` and `desktop.x11`.
"""
