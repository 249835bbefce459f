"""Record a person's work on a screen as a trace like that of a run, for the compiler of playbooks.

`step_collector` collects a person's inputs into steps, each with the screen before it. `typed_secrets` finds the
secrets among the typed texts. `trace_writer` writes the trace. `progress` prints the steps while they are recorded.

May import `core`, `machine`, `loop`, `vision` and `compiler`.
"""
