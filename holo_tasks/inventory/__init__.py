"""Read the programs, menus and recent files of a machine, without starting or opening them.

The modules are `desktop_files` (startable programs), `menus` (menu entries by version of a program) and `recent_files`.
`bounded_reading` reads files of other programs within limits.

May import `core` and `machine`. `run.desktops.discovery` uses it.
"""
