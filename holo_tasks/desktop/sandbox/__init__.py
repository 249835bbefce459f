"""A closed desktop's program: with a network, processes and files of its own, by Debian's bubblewrap (`bwrap`).

`asked` is what it is granted (`folders`) and how much it may take (`bounds`), `bubblewrap` says whether that is here.
`start` has it start the program: `view` says which files it sees, `identity` who it is, `syscalls` what it may not ask
the kernel for. `forwarder` brings it to the hosts that were granted, by sockets that `inside` opens in its network.
"""
