"""The functions that a flow calls: open an agent, define sub-goals and steps, set limits, ask questions.

A sub-goal goes to its layers (script, model, person) in the declared order, each with an empty history and one line
of facts. Only `GaveUp`, an unusable model and a layer's own step limit lead to the next layer. If a layer acted under
a key, the probe is asked in between; without a definite answer only a person is next.

Deciding is a Prefect task with retries for transient faults; the client library's own retries are off, because each
attempt costs money. It is cached only with `cache_decisions`, by the digest of everything the decision depends on.
Acting is a task with `NO_CACHE` and no retries. A step reaches it by context, because Prefect searches parameters for
futures field by field. A replayed playbook is one task; a Python script's steps are tasks.

`open_agents` opens one run (trace, guard, journal, kill switch) with several desktops. `stations` makes a copy of the
`Run` for each desktop, with its own services (`loop.services`), redactor and lock.

`open_agent` opens a run on a desktop. `subgoal` makes a function a sub-goal. `pursue` works on a goal, layer by layer
(`layers`). May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office`, `vision`,
`set_of_mark`, `contract`, `scripts`, `compiler`, `healing`, `telemetry`, `prefect_server`, `kill`, `run` and
`handoff`.
"""
