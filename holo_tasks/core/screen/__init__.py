"""Values about the screen: frames, sizes, scales, states, and comparisons of two frames.

`frame` has screenshots and pictures, `states` the states of a program, `visible_change` the visible effect of a
press. The package imports `core`, `core.elements`, `core.input`, `core.secrets` and `core.texts`.
"""
