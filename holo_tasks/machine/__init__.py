"""Services of the operating system: private files, processes, memory, clocks, and retries while a service is away.

`private` makes files and folders with modes 0600 and 0700 under any umask. `foreign_folder` reads a file of a program
without following links, and only if the kernel grants a read lease, so that no process has it open for writing.

The three most important modules:

* `private` makes files and folders that only this user can access.
* `patience` retries work while Prefect, the database or the trace storage is unavailable.
* `proc` reads `/proc`.

May import `core`.
"""
