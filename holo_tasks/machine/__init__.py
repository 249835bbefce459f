"""Services of the operating system: private files, processes, memory, clocks, and retries while a service is away.

The three most important modules:

* `private` makes files and folders that only this user can access.
* `patience` retries work while Prefect, the database or the trace storage is unavailable.
* `proc` reads `/proc`.

The package may import `core`.
"""
