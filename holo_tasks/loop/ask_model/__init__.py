"""One paid call to a model: its picture, its bill, and corrections of an unusable reply.

The context is never exceeded: image and text tokens are estimated from above. If less than 4,096 tokens remain for a
reply (a quarter of a small context), the older half of the steps is left out, and their notes move into the task.

`predict` makes the call, `take_picture` its picture, `ask` a single question. The package imports `core`.
"""
