"""A playbook that does not fit any more: what the model did for it is proposed beside it, and put in when asked."""
