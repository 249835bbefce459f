"""The conversation with a model: calls of tools, the tools themselves, replies, history.

`tool_calls` declares the calls of a model with their arguments and limits, such as the amount of a scroll.
`call_to_gesture` converts a call to a gesture in pixels. `toolbox` has the tools that a model is offered, and
`transcript` the history. The package imports
`core`, `core.input`, `core.limits`, `core.screen` and `core.texts`.
"""
