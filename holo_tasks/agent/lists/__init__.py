"""Lists of business items, worked on by several flow runs or machines.

`work_list` is the shared list, `fan_out` starts the flow runs.
"""
