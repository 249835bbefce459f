"""`holo-tasks doctor`: test the parts that a run needs, at little cost.

`examination` runs chains of checks concurrently. `model` tests the endpoint, the key and the output. `screen` tests
the display and the input, with `window` as the program on it. `storage_checks` tests the evidence store, the database
and Prefect. `findings` has the results.
"""
