"""Handling of texts from outside, and comparison of values that programs write differently.

Text from outside is quoted to a model between marks that it cannot contain (`outside_text`).

`outside_text` treats text as data, `printable` makes it safe for a terminal, `typed_text` compares a typed text with
its field. The package imports `core` and `core.input`.
"""
