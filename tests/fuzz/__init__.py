"""Everything that reads from outside is given what nobody should send: see `fuzz`, which `make fuzz` runs."""
