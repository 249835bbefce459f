"""Business items: claimed once, worked on at most once, and their stored results.

`business_item` makes one attempt, `journal` protects its effects, `stored_work` finds earlier results. The package
imports `audit`, `core`, `kill`, `loop`, `machine`, `safety`, `run` and `run.prefect_edge`.
"""
