"""The X server: starting it, connections to it, its windows, monitors, keyboard map, grabs and clipboard.

`x_server` starts Xvfb, `x_connection` sends requests, `windows` lists windows. The package imports `core`, `desktop`,
`desktop.capture`, `desktop.programs` and `desktop.stop`.
"""
