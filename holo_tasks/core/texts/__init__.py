"""Handling of texts from outside, and comparison of values that programs write differently.

`outside` treats text as data, `printable` makes it safe for a terminal, `typed_text` compares a typed text with its
field. The package imports `core` and `core.input`.
"""
