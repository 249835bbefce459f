"""Fuzz tests: every parser of outside data gets malformed input. See `fuzz`, which `make fuzz` runs."""
