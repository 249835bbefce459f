"""`holo-tasks run`: its options, its Prefect flow and its progress.

`run` is the command, `flow` the Prefect flow, `settings` the values between them.
"""
