"""Secrets on a desktop: stored in the host process, and typed only into the windows they are bound to.

Before every chunk of keys `secret_binding` checks the window, with the X server grabbed, and whether another client
has grabbed the keyboard. `secret_windows` follows the windows that draw a typed secret. The area of the text comes
with every answer of the host, also if the typing failed or was cancelled.

`secret_store` holds the values, `secret_binding` decides on a window, `secret_windows` tracks windows that may show a
value. The package imports `core`, `desktop.programs`, `desktop.x11` and `machine`.
"""
