"""`holo-tasks run`: its options, its Prefect flow and its progress.

`run` is the command, `flow` the Prefect flow, `settings` the values between them. The package imports `agent`,
`audit`, `core`, `desktop`, `handoff`, `loop`, `machine`, `models`, `prefect_server`, `run`, `safety`, `scripts`,
`vision` and `cli`.
"""
