"""Work on one sub-goal: look at the screen, decide, act, verify, until there is an answer or a limit is reached.

Before every decision, and after `ScreenChanged`, `guide` lets the recognizer find the state of the screen. A declared
interruption is cleared, and a busy state or a hung program is awaited. Unless ``closed=False``, an undeclared screen
is awaited, escaped, and taken home, but never acted on. After an interruption the guide goes back only from `home`,
because any other screen may be the effect of the last action. `unexpected_windows` closes a new window of a known
program that appeared by itself between a decision and its input.

`loop` has the loop over the steps (`pursue`). `walk` has the parts of one step: take a picture, ask the model,
check the permission, send the input, judge the result. `services` lists the outside services that a walk uses.

Guards such as `guide`, `press_once` and `stuck_recovery` are generators that yield `instructions`. The `executor`
carries them out. `approval` asks a person to approve one action. May import `core`.
"""
