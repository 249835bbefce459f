"""The Prefect server of a run: a temporary one if no server is configured, and the checks of local-only mode.

The three most important modules:

* `temporary` starts the temporary server, and finds out whether a configured one answers.
* `local_only` makes sure that a run in local-only mode connects to this machine only.
* `database` creates the temporary server's database without running all migrations.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office`, `vision` and `telemetry`.
"""
