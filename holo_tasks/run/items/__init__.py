"""Business items: claimed once, worked on at most once, and their stored results.

Inside a claim, `loop.walk` writes INTENT before an action's first input event and DONE after its last. An attempt
that finds the intents of an earlier one asks the sub-goal's probe, and hands over to a person without a definite
answer. `fair_map` starts items in order, each in a task with its own `Run` and scope. After `DesktopFailed` the
item's claims and its count of actions decide whether it may start again.

`business_item` makes one attempt, `journal` protects its effects, `stored_work` finds earlier results. The package
imports `audit`, `core`, `kill`, `loop`, `machine`, `safety`, `run` and `run.prefect_edge`.
"""
