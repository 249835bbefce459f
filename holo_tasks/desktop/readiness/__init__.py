"""Detects whether the programs on a desktop still work on the last input.

Requests and answers are distinguished by byte and segment counters alone. The counters of a new connection leave
doubts, because a TLS handshake looks like an answer. A doubt ends when something is drawn, or after half the
patience. Between inputs a thread takes samples, and learns which requests have no effect on the screen and how much
CPU time is usual. On a private desktop all processes count that it started; on a borrowed display those of the window
that gets the input.

The most important modules:

* `work_in_flight` decides it, from the signs that the other modules read.
* `exchanges` finds requests without an answer, in the kernel's table of connections that `tcp_table` reads.
* `build_detector` builds the detector of one desktop.

`cpu_use` follows CPU time, `programs` and `process_tree` list the processes of the programs, and `pointer_name` reads
the name of the pointer.
"""
