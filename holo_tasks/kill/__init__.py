"""Stop a run from outside: by command, signal, Prefect, the shared database, or a lost claim.

`switch` stops one run, and `station_switch` stops the work on one desktop of a run that has several. `sources` looks
for requests to stop in Prefect and in the database.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office` and `vision`.
"""
