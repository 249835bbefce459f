"""The rehearsal model: a playbook served over the protocol of a Holo model. It is not a language model."""
