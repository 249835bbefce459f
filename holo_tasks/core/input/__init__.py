"""Gestures of mouse and keyboard, and the decision whether one is allowed.

`gestures` has the commands that a desktop accepts, `keynames` the keys, `permit` the decision. The package imports
`core`, `core.elements`, `core.prompts` and `core.screen`.
"""
