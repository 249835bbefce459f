"""Record a person's work on a screen as a trace like that of a run, for the compiler of playbooks.

`sitting` collects a person's inputs into steps, each with the screen before it. `hidden` finds the secrets among the
typed texts. `told` writes the trace. `progress` prints the steps while they are recorded.

May import `core`, `machine`, `loop`, `vision` and `compiler`.
"""
