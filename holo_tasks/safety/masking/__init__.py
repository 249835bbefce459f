"""What must not leave the machine, and where it is on a screen; `safety.redaction` paints over it."""
