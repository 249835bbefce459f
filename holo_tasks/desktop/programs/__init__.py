"""Programs on a desktop: their command, environment, user, processes and end.

`program` starts the program, `environment` chooses the variables. The package imports `accessibility`, `core`,
`machine`, `desktop`, `desktop.calibration`, `desktop.capture`, `desktop.remote`, `desktop.secrets`, `desktop.stop`
and `desktop.x11`.
"""
