"""Masks on fields that secrets were typed into.

`typed_fields` places the masks, `typed_field_pixels` and `typed_field_ocr` find the text again. The package imports
`core` and `safety`.
"""
