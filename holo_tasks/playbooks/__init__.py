"""The former location of the modules in `scripts`, `vision`, `set_of_mark`, `contract` and `rehearsal`."""
