"""Stop a run from outside: by command, signal, Prefect, the shared database, or a lost claim.

A request comes from files under ``HOLO_HOME/kill``, which the gate also reads itself, from a signal in a thread
(`signal_listener`), or from `sources`. The switch closes the latch first, and cancels the run's task after that. A
desktop that does not acknowledge the latch in 0.6 s is killed. `cli.exit` limits the time for reporting the end to
Prefect.

`switch` stops one run, and `station_switch` stops the work on one desktop of a run that has several. `sources` looks
for requests to stop in Prefect and in the database.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office` and `vision`.
"""
