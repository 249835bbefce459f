"""Work on one sub-goal: look at the screen, decide, act, verify, until there is an answer or a limit is reached.

`loop` has the loop over the steps (`pursue`). `walk` has the parts of one step: take a picture, ask the model,
check the permission, send the input, judge the result. `doors` lists the outside services that a walk uses.

Guards such as `guide`, `press_once` and `stuck_recovery` are generators that yield `instructions`. The `executor`
carries them out. May import `core`.
"""
