"""Do goals without a model: by playbooks (YAML rules), or by async Python functions.

A goal has steps in their order, rules for screens, or both. `playbook.rules_of_steps` turns steps into rules. Each
begins when the one before it is done, so one engine follows both:

* The place in the list follows from the steps that were done (`earlier_steps`). No text has to tell one screen from
  another.
* Each step is done once. Only typing that left no trace on the screen is repeated.
* A step waits for its `before`, its target and its values. Then the model does it, or a person is asked.
* Interruptions come before all steps and leave the place in the list unchanged. `loops` replaces a loop by its steps.
* `by_model` steps go to the model at once. `resuming` decides when the playbook continues.

Steps pass the same checks as a model's. `script.Script` is the public entry point. `playbook` defines the goals and
rules of the file format, and reads a file. `steps_and_targets` defines a step: its action, its conditions, and its
target (`Target`, with all ways to find a control and its relations to labels). `rules` decides the next step from the
rules, the earlier steps and the screen, and finds targets. `element_search` finds those that a program reports.
`into_view` brings targets into view: `scrolling` finds the place for the mouse wheel, `pager` the next page of a list.
`hands.Hands` is the interface of Python scripts.

May import `core`, `machine`, `loop`, `vision` and `contract`.
"""
