"""Playbooks inside flows: learned, replayed, reviewed, and offered to a model as macros.

`learning` learns a playbook, `replay_task` runs it, `one_step` lets the model do a step that does not fit.
"""
