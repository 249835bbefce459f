"""The conversation with a model: actions, tools, replies, history.

`tool_calls` has the calls of a model, `toolbox` the tools it is offered, `transcript` the history. The package imports
`core`, `core.input`, `core.limits`, `core.screen` and `core.texts`.
"""
