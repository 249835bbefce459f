"""Reports to Prefect: states, artifacts, logs and events.

Expected endings (`core.errors`) are one line in Prefect's log instead of a traceback. Timelines are published in the
background, with a time limit, so that a slow Prefect server does not delay input. `killed` gives each flow run of a
killed run a state that says so.

`final_states` sets the last state of a flow run, `artifacts` publishes pages, `unreported_runs` repeats reports that
failed.
"""
