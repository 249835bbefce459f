"""The desktops of a run: started on first use, seats, spares, and their discovery.

The desktop of a run with several desktops has no screen. It passes the lease, the latch and a kill on to each
desktop. A seat is a claim of the ledger; input passes only while it holds.

`lazy_desktop` starts a desktop, `all_desktops` presents several as one, `seat` limits their number. The package
imports `core`, `desktop`, `inventory`, `loop`, `machine`, `safety`, `run` and `run.items`.
"""
