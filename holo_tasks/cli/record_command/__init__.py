"""`holo-tasks record`: watch a person, and make a playbook of that.

`record` is the command, `person` its standard input.
"""
