"""The functions that a flow calls: open an agent, define sub-goals and steps, set limits, ask questions.

`open_agent` opens a run on a desktop. `subgoal` makes a function a sub-goal. `pursue` works on a goal, layer by layer
(`layers`). This room imports every other room but `cli`, and `cli` is the only room that imports it.
"""
