"""Detectors of private text and windows on a frame. `safety.redaction` paints over the areas that they return.

The three most important modules:

* `texts` masks private text by OCR.
* `kinds` holds the formats of private text, such as card numbers and IBANs.
* `settings` holds the user's redaction settings.

`user_patterns` matches a user's own expressions. `places` masks regions and windows by program, and `wireframe` draws
the screen without any of its pixels. The package imports `core` and `safety`.
"""
