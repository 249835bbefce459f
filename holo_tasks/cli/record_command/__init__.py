"""`holo-tasks record`: watch a person, and make a playbook of that.

`record` is the command, `person` its standard input. The package imports `audit`, `by_hand`, `compiler`, `core`,
`desktop`, `live_view`, `machine`, `models`, `run`, `safety`, `scripts`, `vision`, `cli` and `cli.run_command`.
"""
