"""Gestures of mouse and keyboard, and the decision whether one is allowed.

`gestures` has the commands that a desktop accepts, such as a scroll by wheel notches. `core.prompts.call_to_gesture`
makes them from a model's calls, and `desktop.input` plays them. `keynames` has the keys, and `permit` the decision. The
package imports `core`, `core.elements`, `core.prompts` and `core.screen`.
"""
