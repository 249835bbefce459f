"""`holo-tasks record`: watch a person's work, and make a playbook from it.

`record` is the command, `person` its standard input.
"""
