"""Do goals without a model: by playbooks (YAML rules), or by async Python functions.

Steps pass the same checks as a model's. `script.Script` is the public entry point. `playbook` defines and reads the
file format, and `rules` decides the next step from the rules, the earlier steps and the screen. `hands.Hands` is the
interface of Python scripts.

May import `core`, `machine`, `loop`, `vision` and `contract`.
"""
