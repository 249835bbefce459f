"""Questions about the screen that a flow asks without a goal.

`localize` finds an element, `calibrate` measures clicks, `recover` returns to a state.
"""
