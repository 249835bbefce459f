"""Run a sandboxed program: one with its own network, processes and files, isolated by Debian's bubblewrap (`bwrap`).

Three modules matter most. `sandbox_settings` reads the program's grants. `visible_files` lists the files that the
program sees. `start` starts it in the sandbox. `forwarder` connects it to the granted hosts, by sockets that
`inner_sockets` opens in its network.

This package may import core, machine and the modules of desktop that start processes.
"""
