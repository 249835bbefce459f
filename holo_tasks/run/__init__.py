"""Run sub-goals under limits, a journal and a kill switch, and report their results to Prefect.

`file_arrivals` looks for new files ten times a second.

Three modules matter most. `run` holds the open `Run`: desktop, model, trace and limits. `business_item` makes one
attempt at an item, at most once. `subgoal_context` finds the current sub-goal and its walk.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office`, `vision`, `set_of_mark`,
`contract`, `scripts`, `inventory`, `telemetry`, `prefect_server` and `kill`. The packages handoff, agent and cli build
on it.
"""
