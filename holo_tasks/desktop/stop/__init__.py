"""Ways to stop a gesture before it is complete.

`interrupt` checks deadlines and requests, `kill_files` reads requests from files, `shared_flags` shares memory with
the client. The package imports `core` and `machine`.
"""
