"""Run sub-goals under limits, a journal and a kill switch, and report their results to Prefect.

Three modules matter most. `run` holds the open `Run`: desktop, model, trace and limits. `business_item` makes one
attempt at an item, at most once. `subgoal_context` finds the current sub-goal and its walk.

`hooks` calls a flow's functions after a step, at a limit, for a hand-off or approval, and for a finished item.
`file_arrivals` waits for the files that a program saves. `rules` builds the guards of a run from its options, `items`
works on business items, `desktops` starts desktops, and `prefect_edge` reports to Prefect.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office`, `vision`, `set_of_mark`,
`contract`, `scripts`, `inventory`, `telemetry`, `prefect_server` and `kill`. The packages handoff, agent and cli build
on it.
"""
