"""Hand the screen to a person: the run waits for the answer, or is suspended until it comes.

`hand_over` is the public function and its in-process wait. `pause` pauses or suspends the Prefect flow run and shows
the form. `suspend` ends a flow run for a person, and continues it with the answer.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office`, `vision`, `live_view`, `kill`
and `run`.
"""
