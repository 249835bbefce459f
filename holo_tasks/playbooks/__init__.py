"""What used to be here is in `scripts`, `vision`, `set_of_mark`, `contract` and `rehearsal`."""
