"""Reports to Prefect: states, artifacts, logs and events.

`final_states` sets the last state of a flow run, `artifacts` publishes pages, `unreported_runs` repeats reports that
failed. The package imports `core`, `kill`, `machine`, `models`, `prefect_server`, `safety`, `run` and `run.items`.
"""
