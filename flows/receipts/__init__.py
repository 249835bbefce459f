"""Read receipts from letters for the expense audit. An unclear value is never guessed.

Three modules matter most. `receipt` reads a receipt, with `money` and `days`. `finding` holds the result of an audit.
`note` reads the note of a person about an unreadable receipt. `console` prints the progress of an audit, and `learned`
uses a compiled playbook.
"""
