"""Compile the traces of finished runs into a playbook, without a model and without coordinates.

Four modules matter most. `compile` turns verified traces into a playbook; `holo-tasks compile` calls it. `step_list`
makes a list of steps of runs that did the same, and `build` makes rules for screens of runs that differ. `dry_run`
follows the new playbook over the recorded pictures and compares its steps with the run.

How a run becomes steps:

* Recordings are linear if they did the same visits and answered on the same screen. One recording always is.
* Each recorded action becomes one step. `steps.target_of` chooses its target: role and name that find exactly one
  element in front (`core.elements.element_anchors`), then words, then a picture.
* A step requires an effect only if the next target was already visible before it, or if a label with the item's value
  appeared.
* A step without a safe description is left to the model, with the reason. So is a step that the dry run does not
  repeat on the recorded pictures. Strict settings raise an error instead.
* `interruptions` takes out what lay over the page and was closed there. `overlays` finds the texts that a press
  removed, and `closing_words` has the words of controls and notices in eight languages. `loops` finds the items of one
  recording.
* `chosen_by_keys` finds the keys that chose an entry of the recorded item, which are left to the model.
* Recordings with different ways become rules. If no rules repeat them, the shortest recording becomes steps.

`recording` reads the steps of a trace, and `read_pictures` reads its pictures by OCR. `probes` makes the probe of a
goal. `playbook_stores` and `versions` store learned playbooks, and `shadow` compares one with the model.

May import `core`, `machine`, `loop`, `vision`, `audit`, `contract` and `scripts`.
"""
