"""What is done without a model: playbooks and Python functions, through the same doors."""
