"""Record a person's work on a screen as a trace of the same form as a run's, so that a playbook can be compiled from
it.

`sitting` collects a person's inputs into steps, each with the screen before it. `hidden` finds the secrets among the
typed texts. `told` writes the trace. `progress` prints the steps while they are recorded.

May import `core`, `compiler`, `loop` and `vision`.
"""
