"""A finished run becomes a playbook: what was done on which screen, without the model and without coordinates."""
