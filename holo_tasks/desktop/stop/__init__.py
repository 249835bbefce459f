"""Ways to stop a gesture before it is complete.

The latch and the lease are bytes of a page of shared memory, so each side sees them while the other one hangs. A run
renews its lease several times a second; a run that is stopped, swapped out or dead stops renewing it.

`interrupt` checks deadlines and requests, `kill_files` reads requests from files, `shared_flags` shares memory with
the client. The package imports `core` and `machine`.
"""
