"""How a desktop knows that its programs still work on the last input.

``work_in_flight`` answers the question, and puts together what the other modules see: ``tcp_table`` reads the kernel's
table of connections, ``exchanges`` tells which requests wait for an answer, ``cpu_use`` follows CPU time,
``programs`` and ``process_tree`` list the processes of the programs, and ``pointer_name`` reads which pointer is shown.
``sense`` puts all of them together.
"""
