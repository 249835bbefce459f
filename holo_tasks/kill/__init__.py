"""What stops a run from outside."""
