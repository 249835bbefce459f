"""One paid call to a model: its picture, its bill, and corrections of an unusable reply.

`predict` makes the call, `take_picture` its picture, `ask` a single question. The package imports `core`.
"""
