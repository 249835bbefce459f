"""The tables of the shared database, one module for each.

`ledger` records which work is finished, `budgets` what was spent, `work_items` the queues. The package imports
`core`, `loop`, `machine`, `safety` and `safety.database`.
"""
