"""Guards against harm by an agent: masking of private pixels, action rules, budgets, and the ledger of finished work.

The three most important modules:

* `redaction` masks the private parts of each frame.
* `policy` decides whether an action is allowed.
* `ledger` makes sure that no business item is processed twice.

Modules that persist state add their tables to `store`, the shared SQLite or Postgres database. `masking` holds the
detectors of private text and windows.

The package may import `core`, `machine` and `loop`.
"""
