"""Elements of user interfaces, from accessibility trees, and descriptions of them in words.

`elements` has the tree, `named_target` compares a description with the control at a point, and `inventory` describes
the programs of a machine. The package imports `core`, `core.input`, `core.screen` and `core.texts`.
"""
