"""Do goals without a model: by playbooks (YAML rules), or by async Python functions.

A target is an element only if exactly one matches and the picture agrees. A text is searched only where programs
report no elements, and values are read only from redacted pixels. Before a playbook answers, the goal that is its
`probe` checks the effect. Without it, neither the playbook nor a model repeats the action.

Steps pass the same checks as a model's. `script.Script` is the public entry point. `playbook` defines and reads the
file format, and `rules` decides the next step from the rules, the earlier steps and the screen. `hands.Hands` is the
interface of Python scripts.

May import `core`, `machine`, `loop`, `vision` and `contract`.
"""
