"""Run a sandboxed program: one with its own network, processes and files, isolated by Debian's bubblewrap (`bwrap`).

Three modules matter most. `asked` reads the program's grants. `view` lists the files that the program sees. `start`
starts it in the sandbox. `forwarder` connects it to the granted hosts, by sockets that `inside` opens in its network.

This package may import core, machine and the modules of desktop that start processes.
"""
