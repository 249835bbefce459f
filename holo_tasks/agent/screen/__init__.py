"""Questions about the screen that a flow asks without a goal.

`localize` finds an element, `calibrate` measures clicks, `recover` returns to a state. The package imports `core`,
`desktop`, `loop`, `models`, `run`, `safety`, `scripts`, `set_of_mark`, `vision` and `agent`.
"""
