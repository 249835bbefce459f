"""Propose changes to a playbook whose steps no longer fit, and apply those that are accepted.

Three modules matter most. `proposal` makes a `Proposal` from a step that the model did. `replay_results` stores
proposals and counts of a run next to the playbook. `apply` writes an accepted proposal into the playbook's file.
`notices` proposes interruptions. `certainty` checks that a change holds for every item of a loop.

May import `core`, `machine`, `loop`, `vision`, `audit`, `contract`, `scripts` and `compiler`. The packages agent and
cli use it.
"""
