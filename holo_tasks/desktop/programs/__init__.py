"""Programs on a desktop: their command, environment, user, processes and end.

`sleeping_clients` decides that no client will draw: the X server, its clients and the processes that they started
sleep in a system call whose deadline the kernel shows, and no other socket, watched file, alarm or remote client can
wake them. `desktop.x11.socket_peers` finds the process at the other end of a socket, so GTK and Qt programs count as
asleep if their message bus sleeps too.

`window_owners` identifies the owner of a window by facts that a program cannot fake: the innermost window at the
point, the process that made it (X-Resource), and the file that the process executes.

`program` starts the program, `environment` chooses the variables. The package imports `accessibility`, `core`,
`machine`, `desktop`, `desktop.calibration`, `desktop.capture`, `desktop.remote`, `desktop.secrets`, `desktop.stop`
and `desktop.x11`.
"""
