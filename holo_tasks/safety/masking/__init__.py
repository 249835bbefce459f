"""Detectors of private text and windows on a frame. `safety.redaction` paints over the areas that they return.

The three most important modules are `texts` (masks private text by OCR), `kinds` (forms of private text such as card
numbers) and `settings` (the redaction settings of the user). `places` masks regions and windows by program. `wireframe`
draws the screen without any of its pixels.

The package may import `core`, `machine` and `loop`, and other modules of `safety`.
"""
