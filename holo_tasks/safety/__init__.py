"""Guards against harm by an agent: masking of private pixels, action rules, budgets, and the ledger of finished work.

`policy` decides on the gesture, that is on pixels and keys, right before it is sent, and asks the desktop for the
owner of the window. Key combinations are compared as sets of keysyms. A rule of `approval_rules` needs an approval. It
is bound to the digest of the call, its gesture and program, to the screen at its use, and to the business token or the
flow run. One conditional UPDATE uses it up.

Masked pixels influence nothing that leaves the machine: frames are masked first, and readers, verdicts and approvals
see the redacted pixels only. The policy's rules by text read the raw screen, and answer yes or no.

The three most important modules:

* `redaction` masks the private parts of each frame.
* `policy` decides whether an action is allowed.
* `records.ledger` makes sure that no business item is processed twice.

`approval_rules` decides which actions need a person's approval, `records.approvals` stores the approvals, and
`loop.approval` waits for one.

Modules that persist state add their tables to `database.store`, the shared SQLite or Postgres database. `masking`
holds the detectors of private text and windows.

May import `core`, `machine` and `loop`.
"""
