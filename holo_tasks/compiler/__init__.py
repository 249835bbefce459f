"""Compile the traces of finished runs into a playbook, without a model and without coordinates.

Three modules matter most. `compile` turns verified traces into a playbook; `holo-tasks compile` calls it. `build` makes
the rules of one goal. `dry_run` follows the new playbook over the recorded pictures and compares its steps with the
run.

`recording` reads the steps of a trace, and `sights` reads its pictures by OCR. `probes` makes the probe of a goal.
`shelves` and `versions` store learned playbooks, and `shadow` compares one with the model.

May import `core`, `machine`, `loop`, `vision`, `audit`, `contract` and `scripts`.
"""
