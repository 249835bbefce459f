"""The desktops of a run: started on first use, seats, spares, and their discovery.

`lazy_desktop` starts a desktop, `all_desktops` presents several as one, `seat` limits their number. The package
imports `core`, `desktop`, `inventory`, `loop`, `machine`, `safety`, `run` and `run.items`.
"""
