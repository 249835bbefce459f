"""`holo-tasks doctor`: what a run needs, tried at little cost.

`examination` runs chains of checks side by side: `model` (endpoint to output), `screen` (display and input, with
`window` as the program on it) and `services` (audit and Prefect). `findings` is what they tell.
"""
