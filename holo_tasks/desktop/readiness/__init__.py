"""Detects whether the programs on a desktop still work on the last input.

The most important modules:

* `work_in_flight` decides it, from the signs that the other modules read.
* `exchanges` finds requests without an answer, in the kernel's table of connections that `tcp_table` reads.
* `sense` builds the detector of one desktop.

`cpu_use` follows CPU time, `programs` and `process_tree` list the processes of the programs, and `pointer_name` reads
the name of the pointer. The package may import `core`, `machine` and `desktop`.
"""
