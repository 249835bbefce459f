"""Hand the screen to a person: the run waits for the answer, or is suspended until it comes.

The row of `safety.records.handoffs` is authoritative. The run writes the answer of Prefect's form into it, the
command writes the answer from a shell, both with one conditional UPDATE. The waiting process looks at both each
second. `pause` requests the pause and reports its end in the background until Prefect has accepted it.
`Guard.stop_clocks` moves all deadlines meanwhile.

During a hold the gate lets no agent input through, and no picture is taken. The person's input comes through
`live_view.rfb` and `desktop.remote.remote_input`, with a gate of its own that also obeys the kill latch.

With ``suspend=True`` no process waits. Prefect's state is *Suspended*, and `suspend.Suspended` (a `BaseException`)
ends the process; sub-goals on the way put their item on the list. Prefect alone decides whether an answer is in time
and the first one, because it starts the run again. An attempt is identified by its Running state. It may use answers
only if that is the first one after the last *Suspended*.

`hand_over` is the public function and its in-process wait. `approval_by_person` asks for the approval of one action.
`prefect_event` tells people that a hand-off or an approval waits. `pause` pauses or suspends the Prefect flow run and
shows the form. `suspend` ends a flow run for a person, and continues it with the answer.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office`, `vision`, `live_view`, `kill`
and `run`.
"""
