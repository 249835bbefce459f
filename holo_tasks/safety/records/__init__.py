"""The tables of the shared database, one module for each.

* Budgets: the worst case of a call (one token per byte of text, images by their formula, the whole reply) is held in
  all scopes before the call, and replaced by the bill. The amount that a dead process held stays held, and so does a
  possible later bill. `meters` remembers by how much a server exceeds its limits; the first call to a server is made
  alone.
* Ledger: a claim on a token and a goal is a lease with an epoch. A late holder is refused because of its old epoch. A
  claim whose end no local clock can tell is observed for one lease, because a holder renews it in that time.
* Lists of work: a worker holds one claim for all its items, and each item has an epoch. `Ledger.delete_lapsed` ends
  the claim of a dead worker and puts its items back in one transaction.
* Items: unfinished work by token and goal, with its reason, evidence and how to repeat it.

`ledger` records which work is finished, `budgets` the spent amounts, `work_items` the queues. The package imports
`core`, `loop`, `machine`, `safety` and `safety.database`.
"""
