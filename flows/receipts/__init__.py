"""The parts of the expense audit that are only about receipts. An unclear value is never guessed.

Three modules matter most. `receipt` reads a receipt from a letter, with `money` and `days`. `selection` finds the
receipts that no earlier audit finished. `finding` holds the result of an audit.

`look_ups` reads a transaction from the ledger program, and `ledger_record` compares it with a receipt. `ask_person`
asks a person about an unreadable receipt, and `note` reads the answer. `console` prints the progress.
"""
